"""Pooling as it is exported gives PyTorch's numbers, where ONNX means or has something else."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
from onnx.reference import ReferenceEvaluator
from torch import nn

from workbench.export.export import export_onnx

AVERAGES = {
    "window beyond the padding": nn.AvgPool2d(3, 2, 1, ceil_mode=True),
    "padding not counted": nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
    "no window behind the padding": nn.AvgPool2d(2, 3, 1, ceil_mode=True),
    "divisor": nn.AvgPool2d((2, 3), divisor_override=5),
    "plain": nn.AvgPool2d((3, 2), (2, 1), (1, 0)),
}


class Unbatched(nn.Module):
    """Pools each row by itself, without an axis of the batch."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layer(x[0]).sum()


def exported(module: nn.Module, x: torch.Tensor) -> onnx.ModelProto:
    return export_onnx(module, (x,), input_names=["x"], output_names=["y"], training=False)


def images(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def agrees(module: nn.Module, x: torch.Tensor) -> list[str]:
    """Compare on a batch of another size than the exported; the ops of the graph."""
    model = exported(module, x)
    other = torch.cat([x, x[:1] * 0.5])
    got = ReferenceEvaluator(model).run(None, {"x": other.numpy()})
    expected = module(other)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for one, reference in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, reference.numpy(), rtol=1e-5, atol=1e-6)
    return [node.op_type for node in model.graph.node]


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_divide_as_pytorch_does(name: str) -> None:
    ops = agrees(AVERAGES[name], images(3, 2, 8, 7))
    assert ("Mul" in ops) == (name != "plain")


@pytest.mark.parametrize(("sizes", "output"), [((7, 8), (3, 5)), ((4, 5), (6, 2))])
def test_windows_that_overlap_give_their_largest_and_its_place(
    sizes: tuple[int, int], output: tuple[int, int]
) -> None:
    ops = agrees(nn.AdaptiveMaxPool2d(output, return_indices=True), images(2, 3, *sizes))
    assert "MaxPool" not in ops


def test_windows_of_one_size_are_those_of_max_pooling() -> None:
    assert agrees(nn.AdaptiveMaxPool2d((2, 4)), images(2, 3, 6, 8)) == ["MaxPool"]
    agrees(nn.AdaptiveMaxPool2d(1, return_indices=True), images(2, 3, 6, 8))


@pytest.mark.parametrize("layer", [nn.AdaptiveMaxPool2d(3), nn.AvgPool2d(3, 2, 1, True)])
def test_images_without_a_batch(layer: nn.Module) -> None:
    agrees(Unbatched(layer), images(2, 3, 8, 8))

"""The graph for inference is taken from that for training where both modes compute the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
import torch
from onnx.reference import ReferenceEvaluator
from torch import Tensor, nn
from torch.nn import functional

from workbench.export.export import export_onnx
from workbench.export.two_modes import export_for_inference, export_for_training

TOLERANCE = 1e-5
"""Largest difference from PyTorch, of results around 1."""


class Layers(nn.Module):
    """Dropout in the middle and at an output, batch normalization, tied weights, attention."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(6, 18)
        self.norm = nn.BatchNorm1d(4)
        self.dropout = nn.Dropout(0.4)
        self.mix = nn.Linear(6, 6)
        self.again = nn.Linear(6, 6)
        self.again.weight = self.mix.weight

    def forward(self, x: Tensor, y: Tensor) -> dict[str, Tensor]:
        query, key, value = self.project(self.dropout(self.norm(x))).chunk(3, -1)
        dropped = 0.3 if self.training else 0.0
        seen = functional.scaled_dot_product_attention(
            query, key, value, dropout_p=dropped, is_causal=True
        )
        return {"mixed": self.mix(seen) * y, "last": self.dropout(self.again(seen))}


class Scaled(nn.Module):
    """Computes something else in evaluation mode."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x * (2 if self.training else 3) + y


class LargerOnly(nn.Module):
    """Computes something else in evaluation mode, but in batches larger than the example alone."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x * y if self.training or x.shape[0] <= 8 else x + y


class Always(nn.Module):
    """Dropout that is active in both modes."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return functional.dropout(x, 0.5) + y


class Leaky(nn.Module):
    """Draws slopes in training."""

    def __init__(self) -> None:
        super().__init__()
        self.leaky = nn.RReLU()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        slopes: Tensor = self.leaky(x)
        return slopes + y


class Counting(nn.Module):
    """Writes a buffer in training."""

    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(6))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        if self.training:
            self.seen.add_(x.detach().mean((0, 1)))
        return x + self.seen + y


def exported(module: nn.Module) -> tuple[onnx.ModelProto, onnx.ModelProto, int]:
    """The graphs for training and inference, and how often the latter was exported."""
    examples = [torch.randn(4, 4, 6), torch.randn(4, 1, 1)]

    def export(training: bool) -> onnx.ModelProto:
        return export_onnx(
            module, examples, input_names=["x", "y"], output_names=[], training=training
        )

    said: list[None] = []
    trained = export_for_training(lambda: export(True))
    inference = export_for_inference(trained, lambda: export(False), lambda: said.append(None))
    return trained.graph, inference, len(said)


def difference(module: nn.Module, graph: onnx.ModelProto, rows: int) -> float:
    """The largest from the module in evaluation mode."""
    inputs = {"x": torch.randn(rows, 4, 6), "y": torch.randn(rows, 1, 1)}
    module.eval()
    with torch.no_grad():
        result = module(**inputs)
    expected = list(result.values()) if isinstance(result, dict) else [result]
    fed = {name: value.numpy() for name, value in inputs.items()}
    found = ReferenceEvaluator(graph).run(None, fed)
    assert len(found) == len(expected)
    return max(float(np.abs(a - b.numpy()).max()) for a, b in zip(found, expected, strict=True))


def test_a_module_that_differs_by_dropout_alone_is_exported_once() -> None:
    torch.manual_seed(0)
    module = Layers()
    with torch.no_grad():
        for buffer in (module.norm.running_mean, module.norm.running_var):
            assert buffer is not None
            buffer.uniform_(0.5, 2)
    training, inference, exports = exported(module)
    assert exports == 0
    kinds = [node.op_type for node in training.graph.node]
    assert kinds.count("Dropout") == 3
    assert "Dropout" not in [node.op_type for node in inference.graph.node]
    worst = max(difference(module, inference, rows) for rows in (2, 9))
    assert worst < TOLERANCE, worst
    onnx.checker.check_model(inference)


@pytest.mark.parametrize("make", [Scaled, LargerOnly, Leaky, Counting])
def test_a_module_that_computes_something_else_is_exported_in_both_modes(
    make: Callable[[], nn.Module],
) -> None:
    torch.manual_seed(0)
    module = make()
    _, inference, exports = exported(module)
    assert exports == 1
    # A branch on the size of a batch is noted in the graph as the sizes that it holds for.
    rows = 4 if make is LargerOnly else 9
    worst = difference(module, inference, rows)
    assert worst < TOLERANCE, worst


def test_dropout_that_is_active_in_both_modes_stays() -> None:
    _, inference, exports = exported(Always())
    assert exports == 1
    assert "Dropout" in [node.op_type for node in inference.graph.node]

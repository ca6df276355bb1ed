"""embedding_bag as it is traced for export, against the function itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from workbench.errors import UntrainableError
from workbench.export.export import export_onnx
from workbench.export.traced.embedding_bag import embedding_bag

IDS = torch.tensor([[0, 3, 3], [5, 2, 2], [1, 0, 4], [2, 2, 2]])
OFFSETS = torch.tensor([0, 4, 4, 7])
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "padding": {"padding_idx": 2},
    "padding from the end": {"padding_idx": -2},
}


def both(*args: Any, **settings: Any) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Results and gradients of the function and of ours."""
    found = []
    for function in (functional.embedding_bag, embedding_bag):
        weight = torch.linspace(-1, 1, 24).reshape(6, 4).sin().requires_grad_()
        result = function(args[0], weight, *args[1:], **settings)
        (result * torch.linspace(0.5, 2, result.numel()).reshape(result.shape)).sum().backward()
        assert weight.grad is not None
        found.append([result.detach(), weight.grad])
    return found[0], found[1]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("name", SETTINGS)
def test_rows_of_ids(mode: str, name: str) -> None:
    torch.testing.assert_close(*both(IDS, mode=mode, **SETTINGS[name]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("last", [False, True])
def test_bags_of_any_length(mode: str, name: str, last: bool) -> None:
    offsets = torch.cat([OFFSETS, torch.tensor([12])]) if last else OFFSETS
    settings = {"mode": mode, "include_last_offset": last, **SETTINGS[name]}
    torch.testing.assert_close(*both(IDS.reshape(-1), offsets, **settings))


def test_weighted_rows() -> None:
    weights = torch.linspace(-1, 2, 12)
    torch.testing.assert_close(
        *both(IDS, mode="sum", per_sample_weights=weights.reshape(IDS.shape))
    )
    torch.testing.assert_close(
        *both(IDS.reshape(-1), OFFSETS, mode="sum", per_sample_weights=weights)
    )


@pytest.mark.fault
def test_a_norm_that_is_enforced_is_refused() -> None:
    with pytest.raises(UntrainableError, match="max_norm"):
        embedding_bag(IDS, torch.ones(6, 4), max_norm=1.0)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_it_is_exported_without_a_loop(mode: str) -> None:
    model = export_onnx(
        nn.EmbeddingBag(6, 4, mode=mode),
        (IDS,),
        input_names=["ids"],
        output_names=["y"],
        training=True,
    )
    assert "Loop" not in {node.op_type for node in model.graph.node}
    assert np.prod([d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim[1:]]) == 4

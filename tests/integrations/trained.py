"""Results of trainings: differences of modules, and the statistics of an ORTModule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from workbench import ORTModule


def told(module: ORTModule | None) -> dict[str, Any]:
    """The statistics of an ORTModule, how often its graphs round to bfloat16, and what they make of
    ignored labels."""
    assert module is not None
    graphs = [graph for built in module.built_graphs for graph in built.graphs]
    reasons = {report.option: report.reason for report in module.options_report}
    return {
        "graphs": len(module.built_graphs),
        "pytorch_calls": dict(module.pytorch_calls),
        "rounded": sum(_rounded(graph.session.graph.model) for graph in graphs),
        "labels": reasons.get("label_sparsity"),
    }


def _rounded(model: bytes) -> int:
    nodes = onnx.load_from_string(model).graph.node
    casts = [node for node in nodes if node.op_type == "Cast"]
    return sum(
        attribute.i == onnx.TensorProto.BFLOAT16 for node in casts for attribute in node.attribute
    )


def weights(module: nn.Module) -> Mapping[str, Tensor]:
    found: Mapping[str, Tensor] = plain(module).state_dict()
    return found


def plain(module: nn.Module) -> nn.Module:
    return module.wrapped if isinstance(module, ORTModule) else module


def flat(module: nn.Module) -> Tensor:
    return torch.cat([value.detach().double().flatten() for value in weights(module).values()])


def difference(one: nn.Module, other: nn.Module) -> float:
    """The largest difference of two modules' parameters and buffers."""
    assert weights(one).keys() == weights(other).keys()
    return (flat(one) - flat(other)).abs().max().item()


def in_bfloat16(found: nn.Module, expected: nn.Module, float32: nn.Module) -> dict[str, float]:
    """How far apart trainings are that round to bfloat16, and how far one is that does not.

    Adam takes steps of its learning rate also where rounding decides on their sign, so the largest
    difference says little: these are root mean squares, and of SGD where it can be chosen.
    """
    return {
        "difference": difference(found, expected),
        "apart": _rms(found, expected),
        "float32_apart": _rms(float32, expected),
    }


def _rms(one: nn.Module, other: nn.Module) -> float:
    return (flat(one) - flat(other)).square().mean().sqrt().item()

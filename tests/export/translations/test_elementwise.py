"""Elementwise functions where torch's own exporter overflows, loses digits or merges nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench.export.export import export_onnx
from workbench.onnx_io.graph_metadata import OPEN_BOUNDS
from workbench.ort.native import native

Function = Callable[..., Tensor]

TOLERANCE = 2e-5

NUMBERS = np.array([-100, -20, -3, -1, -1e-4, 0, 1e-4, 1, 3, 6, 20, 100], np.float32)
OTHERS = np.array([-100, 20, 0, -1, 1e-4, 0, 1e-4, -1, 3, 0, 20, -100], np.float32)
INFINITE = np.array([-np.inf, -np.inf, 0, np.inf, np.inf, 1], np.float32)
OTHER_INFINITE = np.array([-np.inf, 0, -np.inf, np.inf, 1, np.inf], np.float32)


UNARY: dict[str, Function] = {
    "expm1": torch.expm1,
    "log1p": lambda x: torch.log1p(x.abs()),
    "log1p below zero": lambda x: torch.log1p(-x.abs() / 101),
    "hardtanh": functional.hardtanh,
    "relu6": functional.relu6,
    "softplus": functional.softplus,
    "softplus, low threshold": lambda x: functional.softplus(x, beta=2.0, threshold=5.0),
    "softplus, flat": lambda x: functional.softplus(x, beta=0.5),
    "logsigmoid": lambda x: functional.logsigmoid(x.clamp(max=6)),
    "sinc": torch.sinc,
    "clamp": lambda x: x.clamp(-1.0, 3.0),
    "clamp, least": lambda x: x.clamp(min=0),
    "clamp, most": lambda x: x.clamp(max=3),
    "clamp_min": lambda x: torch.clamp_min(x, 2.0),
    "clamp_max, tensor": lambda x: torch.clamp_max(x, torch.tensor([1.0])),
}
BINARY: dict[str, Function] = {
    "atan2": torch.atan2,
    "copysign": torch.copysign,
    "copysign of a number": lambda x, y: torch.copysign(x, -0.0) + y,
    "signbit": lambda x, y: torch.where(torch.signbit(y * x.sign()), x, y),
    "hypot": torch.hypot,
    "logaddexp": torch.logaddexp,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "xlogy": lambda x, y: torch.xlogy(x.abs(), y.abs()),
    "clamp": lambda x, y: torch.clamp(x, y, y + 1),
    "clamp, crossed": lambda x, y: torch.clamp(x, y + 1, y),
    "clamp, least": lambda x, y: torch.clamp(x, min=y),
    "clamp, broadcast": lambda x, y: torch.clamp(x, max=y[:, :1]),
}
WITH_INFINITIES: dict[str, Function] = {
    name: BINARY[name] for name in ("logaddexp", "fmax", "fmin")
}


class Each(nn.Module):
    """Every function of the same inputs."""

    def __init__(self, functions: Sequence[Function]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(function(*inputs) for function in self.functions)


def export(functions: Sequence[Function], *rows: np.ndarray) -> onnx.ModelProto:
    examples = [np.stack([row] * 3) for row in rows]
    return export_onnx(
        Each(functions),
        examples,
        input_names=[f"x{index}" for index in range(len(rows))],
        output_names=[f"y{index}" for index in range(len(functions))],
        training=True,
    )


def differences(functions: Mapping[str, Function], *rows: np.ndarray) -> dict[str, float]:
    """Of each the largest difference from PyTorch, over the size of each number."""
    native()  # first, so that onnxruntime leaves its own front end and torch alone
    from onnxruntime import InferenceSession

    session = InferenceSession(export(list(functions.values()), *rows).SerializeToString())
    results = session.run(None, {f"x{index}": row[None] for index, row in enumerate(rows)})
    found = {}
    for (name, function), got in zip(functions.items(), results, strict=True):
        expected = function(*(torch.from_numpy(row[None]) for row in rows)).numpy()
        same = (got == expected) | (np.isnan(got) & np.isnan(expected))
        with np.errstate(invalid="ignore"):
            apart = np.abs(got - expected) / np.maximum(np.abs(expected), 1e-30)
        found[name] = float(np.where(same, 0.0, apart).max())
    return found


@pytest.fixture(scope="module")
def unary() -> dict[str, float]:
    return differences(UNARY, NUMBERS)


@pytest.fixture(scope="module")
def binary() -> dict[str, float]:
    return differences(BINARY, NUMBERS, OTHERS)


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_is_that_of_torch(name: str, unary: dict[str, float]) -> None:
    assert unary[name] < TOLERANCE, f"largest relative difference {unary[name]:.1e}"


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_is_that_of_torch(name: str, binary: dict[str, float]) -> None:
    assert binary[name] < TOLERANCE, f"largest relative difference {binary[name]:.1e}"


def test_infinities_are_those_of_torch() -> None:
    found = differences(WITH_INFINITIES, INFINITE, OTHER_INFINITE)
    assert max(found.values()) < TOLERANCE, found


def test_each_bound_keeps_its_gradient() -> None:
    """A merged Clip would have another, and of equal numbers torch.maximum shares it out."""
    model = export(
        [
            lambda x: functional.relu6(x).clamp(max=3.0),
            lambda x: x.relu().clamp(max=6.0),
            lambda x: torch.minimum(torch.maximum(x, torch.tensor(0.0)), torch.tensor(6.0)),
        ],
        NUMBERS,
    )
    nodes = [
        (node.op_type, {entry.key for entry in node.metadata_props}) for node in model.graph.node
    ]
    assert nodes == [
        ("Clip", {OPEN_BOUNDS}),
        ("Clip", set()),
        ("Relu", set()),
        ("Clip", set()),
        ("Max", set()),
        ("Min", set()),
    ]

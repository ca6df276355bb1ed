"""The export that ORTModule shares gives the artifacts the graphs of an export of their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import onnx
import pytest
import torch
from torch import Tensor, nn

import workbench as wb
from workbench.artifacts.generation.forward_graphs import Forward, forward_graphs
from workbench.export_cache.cache import ExportCache
from workbench.export_cache.code_used import CodeUsed
from workbench.export_cache.export_context import ExportContext

TRAINING, INFERENCE = "exporting the model for training", "exporting the model for inference"


class Layers(nn.Module):
    """Draws, normalizes, has a tied weight, and parameters that are large enough for a file."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(40, 40)
        self.norm = nn.BatchNorm1d(40)
        self.dropout = nn.Dropout(0.25)
        self.model = nn.Linear(40, 40)  # as transformers names the layers below the head
        self.model.weight = self.first.weight

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        hidden = self.dropout(self.norm(self.first(x)))
        return {"logits": self.model(hidden), "hidden": hidden}


class Averaged(Layers):
    """Writes a buffer in training, and computes something else in evaluation mode."""

    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(40))

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        if self.training:
            self.mean.lerp_(x.detach().mean(0), 0.1)
        return super().forward(x - self.mean)


class Scaled(nn.Module):
    """Takes rows of any width."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


@dataclass
class Result:
    logits: Tensor


class Returning(Layers):
    """Returns an object that a record cannot name."""

    def forward(self, x: Tensor) -> Result:  # type: ignore[override]
        return Result(self.first(x))


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> Tensor:
        return grad * 2


class Custom(Layers):
    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        doubled: Tensor = Double.apply(self.first(x))
        return doubled


def hooked() -> nn.Module:
    module = Layers()
    module.register_forward_hook(lambda module, inputs, result: result["logits"] * 2)
    return module


class Exporting(NamedTuple):
    """Exports into one folder, with a cache."""

    folder: Path
    cache: ExportCache

    def forward(self, model: wb.Model, *, shared: bool) -> tuple[Forward, bytes, list[str]]:
        """The graphs, the file of the parameters, and the exports that were reported."""
        said: list[str] = []
        seed = torch.initial_seed()
        context = ExportContext(self.cache, "0" * 64, CodeUsed, seed) if shared else None
        made = forward_graphs(model, said.append, state_folder=self.folder, context=context)
        exports = [sentence for sentence in said if sentence in (TRAINING, INFERENCE)]
        return made, (self.folder / "parameters.bin").read_bytes(), exports


@pytest.fixture
def exporting(tmp_path: Path) -> Exporting:
    (tmp_path / "cache").mkdir()
    torch.manual_seed(0)
    return Exporting(tmp_path, ExportCache(tmp_path / "cache", pytest.fail))


def loaded(module: nn.Module, **options: object) -> wb.Model:
    model = wb.load_model(module, example_inputs=torch.ones(3, 40), **options)
    torch.manual_seed(0)  # initial weights were drawn
    return model


def text(graph: onnx.ModelProto) -> str:
    """All of a graph; the buffer "mean" has the name of an intermediate value."""
    return re.sub(r"\bmean_\d\b", "mean_1", str(graph))


def assert_alike(one: Forward, other: Forward) -> None:
    for name in ("training", "inference", "evaluation"):
        assert text(getattr(one, name)) == text(getattr(other, name)), name


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("kind", "modes"),
    [(Layers, [TRAINING]), (Averaged, [TRAINING, INFERENCE])],
)
def test_shared_graphs_are_those_of_an_own_export(
    kind: Callable[[], nn.Module], modes: list[str], exporting: Exporting
) -> None:
    """Of an export, and from the cache."""
    model = loaded(kind())
    own, parameters, exports = exporting.forward(model, shared=False)
    assert exports == modes
    for expected in (modes, modes[1:]):
        made, written, exports = exporting.forward(model, shared=True)
        assert exporting.cache.contents()[0] == 1
        assert exports == expected
        assert (made.cache_s is None) == (expected == modes)
        assert_alike(made, own)
        assert written == parameters


NOT_SHARED: dict[str, Callable[[], wb.Model]] = {
    "hooks around the module": lambda: loaded(hooked()),
    "a result of a class": lambda: loaded(Returning()),
    "a custom autograd function": lambda: loaded(Custom()),
    "a named axis": lambda: loaded(Scaled(), dynamic_axes={"x": {1: "width"}}),
}


@pytest.mark.parametrize(
    "name",
    [
        "hooks around the module",
        *(pytest.param(name, marks=pytest.mark.sweep) for name in list(NOT_SHARED)[1:]),
    ],
)
def test_what_ortmodule_would_export_otherwise_is_exported_for_artifacts_alone(
    name: str, exporting: Exporting
) -> None:
    model = NOT_SHARED[name]()
    own, *_ = exporting.forward(model, shared=False)
    made, *_ = exporting.forward(model, shared=True)
    assert_alike(made, own)
    assert exporting.cache.contents()[0] == 0


def test_a_module_is_not_shared_after_its_code_drew_numbers(exporting: Exporting) -> None:
    """ORTModule's process has another seed."""
    model = loaded(Layers())
    torch.rand(1)
    made, _, exports = exporting.forward(model, shared=True)
    assert exports == [TRAINING]
    assert made.cache_s is None
    assert exporting.cache.contents()[0] == 0

"""Modules that write into their buffers, on both engines, beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.forked import outcomes_of
from tests.trainable import buffer_cases
from tests.trainable.buffer_cases import CHOSEN, ENGINES, MovingAverage
from workbench.artifacts.generation.kept_outputs import first_output_only
from workbench.artifacts.generation.step_counters import remove_step_counters
from workbench.errors import ModelError, UntrainableError
from workbench.export.export import export_onnx
from workbench.trainable import make_trainable

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    return outcomes_of(buffer_cases)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CHOSEN)
def test_buffers_after_50_steps_are_pytorchs(
    name: str, engine: str, outcomes: dict[str, Any]
) -> None:
    differences = outcomes[f"{name}, {engine}"]
    assert isinstance(differences, dict), differences
    for what, difference in differences.items():
        assert difference < TOLERANCE, f"largest difference of {what}: {difference:.1e}"


def exported(module: nn.Module, *exporters: str, training: bool = True) -> Any:
    chosen = {"exporters": exporters} if exporters else {}
    x = np.ones((3, 6), np.float32)
    return export_onnx(
        module, (x,), input_names=["x"], output_names=["y"], training=training, **chosen
    )


def test_new_values_are_no_outputs_until_the_graph_is_trained() -> None:
    graph = exported(MovingAverage())
    assert [value.name for value in graph.graph.output] == ["y"]
    _, report = make_trainable(first_output_only(graph), ["layer.weight"])
    assert {update.buffer for update in report.state_updates} == {"average", "last"}


def test_evaluation_writes_nothing() -> None:
    graph = exported(MovingAverage(), training=False)
    _, report = make_trainable(graph, ["layer.weight"])
    assert report.state_updates == ()


class Sums(nn.Module):
    """Adds up what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.register_buffer("average", torch.zeros(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.get_buffer("average").add_(x.mean(0))
        return self.layer(x)


def test_tracing_would_forget_it() -> None:
    module = Sums()
    with pytest.raises(ModelError, match=r"tracing forgets what .* writes .*average"):
        exported(module, "TorchScript")
    assert not module.get_buffer("average").any()


class Counts(nn.Module):
    """Grows with every step."""

    def __init__(self, dtype: torch.dtype = torch.int64) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.register_buffer("steps", torch.zeros((), dtype=dtype))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = self.get_buffer("steps")
        steps.add_(1)
        return self.layer(x) * steps


def test_a_buffer_of_integers_that_is_read_is_refused_on_device() -> None:
    with pytest.raises(UntrainableError, match=r"buffer 'steps' of int64.*Make it a float32"):
        remove_step_counters(first_output_only(exported(Counts())))


def test_a_buffer_of_other_numbers_is_refused() -> None:
    with pytest.raises(UntrainableError, match=r"buffer 'steps' of int32.*Make it a float32"):
        exported(Counts(torch.int32))

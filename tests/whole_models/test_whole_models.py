"""Whole models, randomly initialised at small size, verified on both engines as a user would."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
import torch

import workbench as wb
from tests.whole_models import torch_models, transformers_models
from tests.whole_models.case import Case
from workbench.data import Dataset, Split

ALWAYS = {"bert"}
"""The model that represents the others where time is short: a transformer.

Layers of the others are in `tests/coverage` on both engines, and a transformer that predicts tokens
is trained beside PyTorch in `tests/ort/ortmodule`.
"""


def cases_of(module: ModuleType) -> dict[str, Callable[[], Case]]:
    return {
        name: function
        for name, function in vars(module).items()
        if inspect.isfunction(function)
        and function.__module__ == module.__name__
        and inspect.signature(function).return_annotation == "Case"
        and not inspect.signature(function).parameters
    }


CASES = {**cases_of(torch_models), **cases_of(transformers_models)}
PARAMETERS = [
    pytest.param(name, marks=() if name in ALWAYS else pytest.mark.sweep) for name in CASES
]


def dataset_of(case: Case, output: torch.Tensor) -> Dataset:
    """The inputs of the case with a target for `output`, the first that the model gives."""
    random = np.random.default_rng(1)
    if case.loss == "mse":
        target = random.normal(size=tuple(output.shape)).astype(np.float32)
    else:
        target = random.integers(0, output.shape[-1], tuple(output.shape[:-1]))
    return Dataset("case", Split(list(case.inputs.values()), target))


def first_output(module: torch.nn.Module, case: Case) -> torch.Tensor:
    with torch.no_grad():
        found = module(**{name: torch.from_numpy(value) for name, value in case.inputs.items()})
    return found if isinstance(found, torch.Tensor) else found[0]


def test_the_list_is_whole() -> None:
    assert len(CASES) == 24


@pytest.mark.parametrize("name", PARAMETERS)
def test_gradients_equal_those_of_pytorch(name: str) -> None:
    case = CASES[name]()
    torch.manual_seed(0)
    module = case.build()
    data = dataset_of(case, first_output(module, case))
    model = wb.load_model(module, example_inputs=case.inputs)
    found = wb.verify(model, data, loss=case.loss)
    assert {verdict.engine for verdict in found.engines} == {"ondevice", "ortmodule"}
    assert found.ok, str(found)

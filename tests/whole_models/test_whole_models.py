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


@pytest.mark.sweep  # their layers are in tests/coverage, a transformer in tests/ort/ortmodule
@pytest.mark.parametrize("name", CASES)
def test_gradients_equal_those_of_pytorch(name: str) -> None:
    case = CASES[name]()
    torch.manual_seed(0)
    module = case.build()
    data = dataset_of(case, first_output(module, case))
    model = wb.load_model(module, example_inputs=case.inputs)
    found = wb.verify(model, data, loss=case.loss)
    assert {verdict.engine for verdict in found.engines} == {"ondevice", "ortmodule"}
    assert found.ok, str(found)

"""A forward pass that fails says whether the module or its example inputs are to be corrected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import workbench as wb
from workbench.errors import ExampleInputsError, ModelError


class Failing(nn.Module):
    """A layer for 8 features, and a line that fails."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.fail(x)
        return self.layer(x)

    def fail(self, x: torch.Tensor) -> Any:
        raise NotImplementedError


class MissesALayer(Failing):
    def fail(self, x: torch.Tensor) -> Any:
        return self.other(x)


class MissesAName(Failing):
    def fail(self, x: torch.Tensor) -> Any:
        return undefined(x)  # type: ignore[name-defined]  # noqa: F821


class Raises(Failing):
    def fail(self, x: torch.Tensor) -> Any:
        raise RuntimeError("boom")


class AddsNone(Failing):
    def fail(self, x: torch.Tensor) -> Any:
        return x + None  # type: ignore[operator]


class GivesTooMuch(Failing):
    def fail(self, x: torch.Tensor) -> Any:
        return self.layer(x, x)


class Exits(Failing):
    def fail(self, x: torch.Tensor) -> Any:
        raise SystemExit("bye")


class WithoutForward(nn.Module):
    pass


@pytest.mark.parametrize(
    "module",
    [MissesALayer, MissesAName, Raises, AddsNone, GivesTooMuch, Exits, Failing, WithoutForward],
)
def test_an_error_of_the_code_is_not_one_of_the_example_inputs(module: type[nn.Module]) -> None:
    with pytest.raises(ModelError, match=r"fails on inputs of shape .*Correct its forward\.") as e:
        wb.load_model(module(), example_inputs=np.ones((4, 8), np.float32))
    assert not isinstance(e.value, ExampleInputsError)


class Sums(Failing):
    def fail(self, x: torch.Tensor) -> Any:
        return x @ torch.ones(8, 3)


class Unpacks(Failing):
    def fail(self, x: torch.Tensor) -> Any:
        rows, _, _ = x.shape
        return rows


@pytest.mark.parametrize(
    ("module", "example"),
    [
        (Sums(), np.ones((4, 5), np.float32)),  # an operation of forward
        (Unpacks(), np.ones((4, 8), np.float32)),
        (nn.Conv1d(8, 2, 3), np.ones((4, 5, 9), np.float32)),  # an operation of torch
        (nn.Embedding(3, 2), np.full((4, 8), 7)),
        (nn.MultiheadAttention(8, 2), (np.ones((4, 3, 5), np.float32),) * 3),  # asserted by torch
    ],
)
def test_an_operation_that_fails_is_one_of_the_example_inputs(
    module: nn.Module, example: Any
) -> None:
    of_inputs = "Check the example inputs, and that forward|give other example inputs"
    with pytest.raises(ExampleInputsError, match=of_inputs):
        wb.load_model(module, example_inputs=example)


@pytest.mark.parametrize(
    ("module", "inputs", "remedy"),
    [
        (nn.Bilinear(8, 8, 2), 1, "takes input1, input2: give an example input for each, as in a"),
        (nn.Bilinear(8, 8, 2), 3, "takes input1, input2: give an example input for each, as in a"),
        (nn.Linear(8, 2), 2, "forward takes input alone: give one example input"),
    ],
)
def test_another_number_of_inputs_is_told_with_what_forward_takes(
    module: nn.Module, inputs: int, remedy: str
) -> None:
    with pytest.raises(ExampleInputsError, match=remedy):
        wb.load_model(module, example_inputs=(np.ones((4, 8), np.float32),) * inputs)


@pytest.mark.parametrize(
    ("module", "example", "remedy"),
    [
        (nn.Linear(8, 2), np.ones((4, 8), np.int64), r"give float32, as x.astype\('float32'\)"),
        (nn.Linear(8, 2), np.ones((4, 9)), "rows of 8 numbers, and these have 9: give other"),
        (nn.Embedding(3, 2), np.ones((4, 8)), r"give integers, as x.astype\('int64'\)"),
    ],
)
def test_a_wrong_dtype_or_length_of_rows_is_told_with_its_remedy(
    module: nn.Module, example: Any, remedy: str
) -> None:
    with pytest.raises(ExampleInputsError, match=remedy) as caught:
        wb.load_model(module, example_inputs=example)
    told = "(4, 8) and dtype int64" in str(caught.value)
    assert told is (example.dtype == np.int64), "float64 was converted to float32, the usual dtype"


class FixedRows(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(4, 8) * 2


def test_a_module_of_one_batch_size_is_not_one_of_the_example_inputs() -> None:
    match = r"inputs of shape \(5, 8\): .*takes the 4 rows of the example inputs, but must take any"
    with pytest.raises(ModelError, match=match) as error:
        wb.load_model(FixedRows(), example_inputs=np.ones((4, 8), np.float32))
    assert not isinstance(error.value, ExampleInputsError)

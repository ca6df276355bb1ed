"""Results of a module that are not tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from workbench.errors import UntrainableError
from workbench.ort.ortmodule.capture.nested_values.constant_objects import verified_results
from workbench.ort.ortmodule.capture.nested_values.structure import Structure, flatten, rebuild

SHARED = [1]


class Returns(nn.Module):
    """Beside its tensor a string of its size, and two lists, of which one is always the same."""

    def forward(self, x: torch.Tensor) -> Any:
        return x, f"n{x.shape[0]}", [{2}, SHARED]


def of_results(value: Any) -> Structure:
    x = torch.zeros(3, 4)
    arguments = flatten(((x,), {}), [])
    structure = flatten(value, [], results=True)
    return verified_results(structure, Returns(), arguments, [x], [{}])


@pytest.mark.fault
def test_a_string_that_follows_a_size_is_refused() -> None:
    with pytest.raises(UntrainableError, match=r"str 'ns21'.* at result\[1\]"):
        of_results((torch.zeros(3, 4), "ns21", [{2}, SHARED]))


def test_an_object_comes_back_fresh_at_every_call() -> None:
    structure = of_results((torch.zeros(3, 4), "n3", [{2}, SHARED]))
    first, second = (rebuild(structure, iter([torch.zeros(1)]))[2] for _ in range(2))
    first[0].add(5)
    assert second[0] == {2}


class NamesDtype(nn.Module):
    """Beside its tensor the name of its dtype, as transformers' caches keep that dtype."""

    def forward(self, x: torch.Tensor) -> Any:
        y = x @ x.T
        return y, str(y.dtype)


def test_a_dtype_under_autocast_is_compared_with_that_of_a_call_under_it() -> None:
    x = torch.zeros(3, 3)
    value = (x.bfloat16(), "torch.bfloat16")
    structure = flatten(value, [], results=True)
    found = verified_results(
        structure, NamesDtype(), flatten(((x,), {}), []), [x], [{}], torch.bfloat16
    )
    assert rebuild(found, iter([value[0]])) == value


@pytest.mark.fault
def test_an_array_that_holds_a_tensor_of_the_graph_is_refused() -> None:
    array = np.empty(1, object)
    with FakeTensorMode():
        array[0] = torch.zeros(2)
    with pytest.raises(UntrainableError, match=r"numpy.ndarray.* at result\[1\]"):
        flatten((1, array), [], results=True)


def with_default() -> Any:
    def count(each: int, seen: list[int] = []) -> int:  # noqa: B006 -- a default that a call changes
        seen.append(each)
        return len(seen)

    return count


def with_closure() -> Any:
    seen: list[int] = []
    return lambda each: seen.append(2 * each)


class Log:
    """Its list is found by itself, too, and may be copied there."""

    def __init__(self) -> None:
        log: list[int] = []
        self.put, self.log = lambda each: log.append(2 * each), log


class EarlyLog:
    """As `Log`, whose list is found first by the other way."""

    def __init__(self) -> None:
        log: list[int] = []
        self.log, self.put = log, lambda each: log.append(2 * each)


@pytest.mark.fault
@pytest.mark.parametrize("make", [with_default, with_closure, Log, EarlyLog])
def test_a_function_that_keeps_a_list_of_its_call_is_refused(make: Any) -> None:
    class Counts(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x, make()

    x = torch.zeros(3, 4)
    structure = flatten((x, make()), [], results=True)
    with pytest.raises(UntrainableError, match=r"holds a builtins.list, .* cannot be copied"):
        verified_results(structure, Counts(), flatten(((x,), {}), []), [x], [{}])


def without_a_value() -> Any:
    def later() -> int:
        return unset

    if SHARED == "never":
        unset = 1
    return later


def test_a_function_of_a_name_that_was_never_assigned_comes_back() -> None:
    class Returned(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x, without_a_value()

    x = torch.zeros(3, 4)
    structure = flatten((x, without_a_value()), [], results=True)
    structure = verified_results(structure, Returned(), flatten(((x,), {}), []), [x], [{}])
    with pytest.raises(NameError):
        rebuild(structure, iter([x]))[1]()

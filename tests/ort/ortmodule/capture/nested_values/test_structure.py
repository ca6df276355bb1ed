"""Nested arguments and results as flat tensors, and back."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from workbench.errors import UntrainableError
from workbench.ort.ortmodule.capture.nested_values.structure import flatten, rebuild


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any = None


@dataclasses.dataclass
class Output(OrderedDict):  # as transformers has it: a dataclass that holds what is not None
    logits: Any = None
    cache: Any = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)


def test_dataclasses_come_back_as_they_were() -> None:
    x, y = torch.zeros(2), torch.ones(3)
    tensors: list[torch.Tensor] = []
    structure = flatten(Pair(x, Output(logits=[y])), tensors)
    assert [id(tensor) for tensor in tensors] == [id(x), id(y)]
    back = rebuild(structure, iter(tensors))
    assert back.left is x
    assert type(back.right) is Output
    assert back.right.logits[0] is y
    assert list(back.right) == ["logits"]
    assert hash(structure) == hash(flatten(Pair(y, Output(logits=[x])), []))


class Held:
    """A class of no kind that can be taken apart."""

    def __init__(self, value: Any) -> None:
        self.value = value


def test_an_argument_of_another_class_is_refused() -> None:
    value = Output(logits=torch.zeros(2), cache=Fraction(1, 2))
    with pytest.raises(UntrainableError, match=r"got a fractions\.Fraction"):
        flatten(value, [])


def test_a_result_that_holds_no_tensor_of_the_graph_is_kept() -> None:
    own = Held([torch.ones(2), Fraction(1, 2)])
    tensors: list[torch.Tensor] = []
    for value in (np.float32(2), {1, 2}, own, lambda: own):
        assert rebuild(flatten([value], tensors, results=True), iter(())) == [value]
    assert tensors == []


@pytest.mark.parametrize("hide", [Held, lambda x: Held({"a": [Held(x)]}), lambda x: lambda: x])
def test_a_result_that_holds_one_is_refused_by_name(hide: Any) -> None:
    with FakeTensorMode():
        value = hide(torch.zeros(2))
    with pytest.raises(UntrainableError, match=r"cannot return a .* at result\[1\]"):
        flatten((1, value), [], results=True)


def test_an_object_that_holds_itself_is_refused() -> None:
    pair = Pair(torch.zeros(2))
    pair.right = pair
    with pytest.raises(UntrainableError, match="contains itself"):
        flatten(pair, [])

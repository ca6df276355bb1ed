"""Nested arguments and results as flat tensors, and back."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from fractions import Fraction
from typing import Any

import pytest
import torch

from workbench.errors import UntrainableError
from workbench.ort.ortmodule.structure import flatten, rebuild


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


def test_what_cannot_be_part_of_a_graph() -> None:
    value = Output(logits=torch.zeros(2), cache=Fraction(1, 2))
    with pytest.raises(UntrainableError, match=r"met a fractions\.Fraction"):
        flatten(value, [])
    tensors: list[torch.Tensor] = []
    back = rebuild(flatten(value, tensors, others_as_none=True), iter(tensors))
    assert back.cache is None
    assert back.logits is tensors[0]

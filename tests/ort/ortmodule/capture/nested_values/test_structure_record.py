"""Structures as JSON: read back as they were, and nothing that names a class of a user."""

from __future__ import annotations

import json
import subprocess
from collections import OrderedDict, namedtuple
from typing import Any

import pytest
import torch
from transformers.modeling_outputs import SequenceClassifierOutput

from workbench.ort.ortmodule.capture.nested_values.structure import (
    ConstantObject,
    Number,
    Structure,
    flatten,
    rebuild,
)
from workbench.ort.ortmodule.capture.nested_values.structure_record import (
    CorruptRecordError,
    NoRecordError,
    structure_of,
    structure_record,
)

Pair = namedtuple("Pair", "first second")


class Odd(int):
    pass


def read_back(structure: Structure) -> Structure:
    return structure_of(json.loads(json.dumps(structure_record(structure))))


@pytest.mark.parametrize(
    "value",
    [
        torch.ones(2),
        (torch.ones(2), [torch.zeros(1), None], "mean", True, 1, 1.0, float("inf"), -0.0),
        {"b": torch.ones(2), "a": OrderedDict(x=torch.zeros(1))},
        SequenceClassifierOutput(logits=torch.ones(2), hidden_states=(torch.zeros(1),)),
        (),
    ],
)
def test_a_structure_is_read_back(value: Any) -> None:
    tensors: list[torch.Tensor] = []
    structure = flatten(value, tensors)
    found = read_back(structure)
    assert found == structure
    assert repr(rebuild(found, iter(tensors))) == repr(value)


def test_numbers_of_sizes_are_read_back() -> None:
    assert read_back(Number(float)) == Number(float)


@pytest.mark.parametrize(
    "structure",
    [
        flatten(Pair(torch.ones(1), torch.ones(1)), []),
        flatten({1: torch.ones(1)}, []),
        flatten(torch.float32, []),
        flatten(Odd(3), []),
        ConstantObject(object()),
    ],
)
def test_other_parts_have_no_record(structure: Structure) -> None:
    with pytest.raises(NoRecordError):
        structure_record(structure)


@pytest.mark.parametrize(
    "record",
    [
        "tensors",
        None,
        ["list"],
        ["list", "tensor", 3],
        ["dict", [["a", "tensor", 1]]],
        ["int", True],
        ["float", 1.5],
        ["str", None],
        ["number", "complex"],
        ["transformers", "transformers.modeling_outputs", "dataclass", []],
        ["transformers", "transformers.utils.generic", "json", []],
        ["transformers", "subprocess", "Popen", [["args", ["str", "touch it"]]]],
        ["transformers", "transformers.never_imported", "Output", []],
    ],
)
def test_a_corrupt_record_creates_nothing(record: Any) -> None:
    assert subprocess.Popen  # it is imported, and still no class for results
    with pytest.raises(CorruptRecordError):
        structure_of(record)

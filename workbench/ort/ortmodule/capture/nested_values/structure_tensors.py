"""The tensors that a nested value holds, by its structure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from workbench.ort.ortmodule.capture.nested_values.structure import (
    NUMBERS,
    Constant,
    ConstantObject,
    Leaf,
    Mapping,
    Number,
    Object,
    OmittedResult,
    Registered,
    Sequence,
    Structure,
    attributes_of,
)


def count_tensors(structure: Structure) -> int:
    """Number of tensors in a value of this structure."""
    match structure:
        case Leaf() | Number():
            return 1
        case Constant() | ConstantObject() | OmittedResult():
            return 0
        case Object():
            contents = structure.contents
            return count_tensors(structure.attributes) + (
                count_tensors(contents) if contents else 0
            )
        case _:
            return sum(map(count_tensors, structure.items))


def dtypes_of(structure: Structure, value: Any) -> Iterator[torch.dtype]:
    """The dtypes of the tensors in `value`, which has this structure, from left to right."""
    match structure:
        case Leaf():
            yield value.dtype
        case Number():
            yield next(dtype for kind, dtype in NUMBERS.values() if kind is structure.kind)
        case Sequence():
            for item, held in zip(structure.items, value, strict=True):
                yield from dtypes_of(item, held)
        case Mapping():
            for item, key in zip(structure.items, structure.keys, strict=True):
                yield from dtypes_of(item, value[key])
        case Object():
            yield from dtypes_of(structure.attributes, attributes_of(value))
            if structure.contents is not None:
                yield from dtypes_of(structure.contents, value)
        case Registered():
            children, _ = pytree.SUPPORTED_NODES[structure.kind].flatten_fn(value)
            for item, held in zip(structure.items, children, strict=True):
                yield from dtypes_of(item, held)

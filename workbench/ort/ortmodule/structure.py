"""Nested arguments and results of a module as a flat list of tensors, and back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from workbench.errors import UntrainableError


class Leaf(NamedTuple):
    """The place of one tensor."""


class Constant(NamedTuple):
    """A value that is part of the graph: None, or a Python number or string."""

    kind: type
    """Beside the value, for 1, 1.0 and True are equal but do not compute the same."""
    value: Any


class Sequence(NamedTuple):
    """A list, tuple or named tuple."""

    kind: type
    items: tuple[Any, ...]


class Mapping(NamedTuple):
    """A dict, in its order."""

    kind: type
    keys: tuple[Any, ...]
    items: tuple[Any, ...]


Structure = Leaf | Constant | Sequence | Mapping
"""What is left of a nested value without its tensors; hashable, and equal for equal nesting."""

LEAF = Leaf()


def flatten(value: Any, tensors: list[torch.Tensor]) -> Structure:
    """The structure of `value`, whose tensors are appended to `tensors` from left to right.

    Raises:
        UntrainableError: something in `value` is none of the kinds above.
    """
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return LEAF
    if value is None or isinstance(value, (bool, int, float, str)):
        return Constant(type(value), value)
    if isinstance(value, (list, tuple)):
        return Sequence(type(value), tuple([flatten(item, tensors) for item in value]))
    if type(value) in (dict, OrderedDict):
        items = tuple([flatten(item, tensors) for item in value.values()])
        return Mapping(type(value), tuple(value), items)
    raise UntrainableError(
        f"ORTModule takes and gives tensors, None, numbers, strings and lists, tuples and dicts of "
        f"them, but met a {type(value).__module__}.{type(value).__qualname__}. "
        "Wrap the module in one whose forward takes and returns only these."
    )


def rebuild(structure: Structure, tensors: Iterator[torch.Tensor]) -> Any:
    """The nested value of this structure around the next tensors of `tensors`."""
    if isinstance(structure, Leaf):
        return next(tensors)
    if isinstance(structure, Constant):
        return structure.value
    items = [rebuild(item, tensors) for item in structure.items]
    if isinstance(structure, Mapping):
        return structure.kind(zip(structure.keys, items, strict=True))
    if hasattr(structure.kind, "_fields"):
        return structure.kind(*items)
    return structure.kind(items)

"""Nested arguments and results of a module as a flat list of tensors, and back."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterator
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

import torch

from workbench.errors import UntrainableError


class Leaf(NamedTuple):
    """The place of one tensor."""


class Size(NamedTuple):
    """The place of a whole number that follows the sizes of the tensors; a tensor in the graph."""


class Constant(NamedTuple):
    """A value that is part of the graph: None, a Python number or string, or a dtype and such."""

    kind: type
    """Beside the value, for 1, 1.0 and True are equal but do not compute the same."""
    value: Any


class Sequence(NamedTuple):
    """A list, tuple or named tuple."""

    kind: type
    items: tuple[Any, ...]


class Mapping(NamedTuple):
    """A dict in its order, or a dataclass, be it a dict as well or not."""

    kind: type
    keys: tuple[Any, ...]
    items: tuple[Any, ...]


Structure = Leaf | Size | Constant | Sequence | Mapping
"""What is left of a nested value without its tensors; hashable, and equal for equal nesting."""

LEAF = Leaf()

_CONSTANTS = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    Enum,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
)


def flatten(value: Any, tensors: list[torch.Tensor], *, others_as_none: bool = False) -> Structure:
    """The structure of `value`, whose tensors are appended to `tensors` from left to right.

    Args:
        value: what is nested.
        tensors: takes its tensors.
        others_as_none: take an object of any other class for None, such as a cache of keys and
            values among the results of a model; Python's own, such as a set, are refused.

    Raises:
        UntrainableError: something in `value` is none of the kinds above.
    """
    inner = partial(flatten, tensors=tensors, others_as_none=others_as_none)
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return LEAF
    if isinstance(value, torch.SymInt):
        tensors.append(torch.scalar_tensor(value, dtype=torch.int64))  # type: ignore[arg-type]
        return Size()
    if value is None or isinstance(value, _CONSTANTS):
        return Constant(type(value), value)
    if isinstance(value, (list, tuple)):
        return Sequence(type(value), tuple([inner(item) for item in value]))
    fields = _fields(value)
    if fields is not None:
        return Mapping(type(value), tuple(fields), tuple([inner(v) for v in fields.values()]))
    if others_as_none and type(value).__module__ != "builtins":
        return Constant(type(None), None)
    raise UntrainableError(
        f"ORTModule takes tensors, None, numbers, strings and lists, tuples, dicts and dataclasses "
        f"of them, but met a {type(value).__module__}.{type(value).__qualname__}. "
        "Wrap the module in one whose forward takes only these."
    )


def _fields(value: Any) -> dict[Any, Any] | None:
    """What a dict or dataclass holds by key; None of anything else."""
    if type(value) in (dict, OrderedDict):
        return dict(value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return None
    if isinstance(value, dict):
        # transformers' outputs: of their fields they hold those that are not None.
        return dict(value)
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def rebuild(structure: Structure, tensors: Iterator[torch.Tensor]) -> Any:
    """The nested value of this structure around the next tensors of `tensors`."""
    if isinstance(structure, (Leaf, Size)):
        tensor = next(tensors)
        return tensor if isinstance(structure, Leaf) else int(tensor)
    if isinstance(structure, Constant):
        return structure.value
    items = [rebuild(item, tensors) for item in structure.items]
    if isinstance(structure, Mapping):
        pairs = zip(structure.keys, items, strict=True)
        if dataclasses.is_dataclass(structure.kind):
            return structure.kind(**dict(pairs))
        return structure.kind(pairs)
    if hasattr(structure.kind, "_fields"):
        return structure.kind(*items)
    return structure.kind(items)

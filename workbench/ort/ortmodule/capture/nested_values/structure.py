"""Nested arguments and results of a module as a flat list of tensors, and back."""

from __future__ import annotations

import copy
import dataclasses
from collections import OrderedDict, UserDict
from collections.abc import Iterator
from enum import Enum
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from workbench.errors import UntrainableError
from workbench.ort.ortmodule.capture.nested_values.graph_values import holds_graph_values


class Leaf(NamedTuple):
    """The place of one tensor."""


class Number(NamedTuple):
    """The place of a number that depends on the sizes of the tensors; a tensor in the graph."""

    kind: type


class Constant(NamedTuple):
    """A value that is part of the graph: None, a Python number or string, or a dtype and such."""

    kind: type
    """In addition to the value, as 1, 1.0 and True are equal but compute differently."""
    value: Any


class ConstantObject(NamedTuple):
    """An object among the results that depends on no tensor of the graph: a copy at every call."""

    value: Any
    shared: tuple[Any, ...] | None = None
    """Objects that a copy shares, or is itself; None: it is not copied."""


class OmittedResult(NamedTuple):
    """The place of a result that the graph does not compute."""

    name: str
    key: Any
    """Its key or place in the module's result, or the name of its attribute."""
    is_attribute: bool
    value: Any = None
    """Value that a call returns in its place."""

    def of(self, result: Any) -> Any:
        """Its value in a result of the module."""
        return getattr(result, self.key) if self.is_attribute else result[self.key]


class Sequence(NamedTuple):
    """A list, tuple or named tuple."""

    kind: type
    items: tuple[Any, ...]


class Mapping(NamedTuple):
    """A dict in its order, or one of transformers' outputs, which are dataclasses as well."""

    kind: type
    keys: tuple[Any, ...]
    items: tuple[Any, ...]


class Object(NamedTuple):
    """A dataclass or another object defined by its attributes and items."""

    kind: type
    attributes: Mapping
    contents: Mapping | None
    """Items of a subclass of dict."""


class Registered(NamedTuple):
    """A container of a class that is registered with PyTorch's pytree."""

    kind: type
    context: Any
    items: tuple[Any, ...]


Structure = (
    Leaf
    | Number
    | Constant
    | ConstantObject
    | OmittedResult
    | Sequence
    | Mapping
    | Object
    | Registered
)
"""A nested value without its tensors. That of arguments is hashable, and equal if nested
equally."""

LEAF = Leaf()

NUMBERS: dict[type, tuple[type, torch.dtype]] = {
    torch.SymInt: (int, torch.int64),
    torch.SymFloat: (float, torch.float64),
    torch.SymBool: (bool, torch.bool),
}
"""Symbolic type of a number during export: class of the number, dtype of its tensor."""

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

_MADE_OF_ATTRIBUTES = ("torch.distributions.", "transformers.cache_utils.")
"""Modules whose objects are defined by their attributes."""

_REMEDY = (
    "Return its tensors, make its class a dataclass, or register it with "
    "torch.utils._pytree.register_pytree_node. Wrap the module in one that does so if "
    "it is not yours."
)


def flatten(value: Any, tensors: list[torch.Tensor], *, results: bool = False) -> Structure:
    """The structure of `value`, whose tensors are appended to `tensors` from left to right.

    Args:
        value: the nested value.
        tensors: list to which its tensors are appended.
        results: whether it is the result of a module in an export. An object of any class is
            then kept if it holds nothing that the graph computes.

    Raises:
        UntrainableError: a part of `value` is of no supported type.
    """
    return _Flattening(tensors, results).of(value, "")


class _Flattening:
    def __init__(self, tensors: list[torch.Tensor], results: bool) -> None:
        self._tensors = tensors
        self._results = results
        self._within: set[int] = set()

    def of(self, value: Any, where: str) -> Structure:
        if isinstance(value, torch.Tensor):
            self._tensors.append(value)
            return LEAF
        if type(value) in NUMBERS:
            kind, dtype = NUMBERS[type(value)]
            self._tensors.append(torch.scalar_tensor(value, dtype=dtype))
            return Number(kind)
        if value is None or isinstance(value, _CONSTANTS):
            return Constant(type(value), value)
        if id(value) in self._within:
            raise UntrainableError(
                f"ORTModule cannot flatten a {name_of(value)} that contains itself"
                f"{at(where)}. Pass its contents instead."
            )
        self._within.add(id(value))
        structure = self._container(value, where)
        self._within.remove(id(value))
        return structure

    def _container(self, value: Any, where: str) -> Structure:
        kind = type(value)
        if isinstance(value, (list, tuple)):
            items = [self.of(item, f"{where}[{place}]") for place, item in enumerate(value)]
            return Sequence(kind, tuple(items))
        if kind in (dict, OrderedDict):
            return self._mapping(kind, value, where)
        if dataclasses.is_dataclass(value) and isinstance(value, dict):
            # transformers' outputs: of their fields they hold those that are not None. Before the
            # next, which finds nothing of a graph where a trace is compared with the module.
            return self._mapping(kind, dict(value), where)
        if self._results and not holds_graph_values(value):
            return ConstantObject(value)
        if self._results and kind in pytree.SUPPORTED_NODES:
            children, context = pytree.SUPPORTED_NODES[kind].flatten_fn(value)
            found = [self.of(child, f"{where}[{i}]") for i, child in enumerate(children)]
            return Registered(kind, context, tuple(found))
        if _is_made_of_attributes(value):
            attributes = self._mapping(dict, attributes_of(value), where, ".{}")
            held = isinstance(value, dict)
            contents = self._mapping(dict, dict(value), where) if held else None
            return Object(kind, attributes, contents)
        raise self._refusal(value, where)

    def _mapping(
        self, kind: type, held: dict[Any, Any], where: str, form: str = "[{!r}]"
    ) -> Mapping:
        items = [self.of(item, where + form.format(key)) for key, item in held.items()]
        return Mapping(kind, tuple(held), tuple(items))

    def _refusal(self, value: Any, where: str) -> UntrainableError:
        if self._results:
            return UntrainableError(
                f"ORTModule cannot return a {name_of(value)}, which the module returns"
                f"{at(where)}: it holds tensors of the graph. {_remedy(value)}"
            )
        return UntrainableError(
            "ORTModule takes tensors, None, numbers, strings and lists, tuples, dicts and "
            f"dataclasses of them, but got a {name_of(value)}. "
            "Wrap the module in one whose forward takes only these."
        )


def _remedy(value: Any) -> str:
    if isinstance(value, (FunctionType, MethodType)):
        return "Return the tensor as well, and make it an argument of the function."
    return _REMEDY


def rebuild(structure: Structure, tensors: Iterator[torch.Tensor]) -> Any:
    """The nested value of this structure around the next tensors of `tensors`."""
    if isinstance(structure, (Leaf, Number)):
        tensor = next(tensors)
        return tensor if isinstance(structure, Leaf) else structure.kind(tensor)
    if isinstance(structure, Constant | OmittedResult):
        return structure.value
    if isinstance(structure, ConstantObject):
        if structure.shared is None:
            return structure.value
        return copy.deepcopy(structure.value, {id(each): each for each in structure.shared})
    if isinstance(structure, Object):
        return _object(structure, tensors)
    return _container(structure, tensors)


def _container(structure: Sequence | Mapping | Registered, tensors: Iterator[torch.Tensor]) -> Any:
    items = [rebuild(item, tensors) for item in structure.items]
    kind = structure.kind
    if isinstance(structure, Registered):
        return pytree.SUPPORTED_NODES[kind].unflatten_fn(items, structure.context)
    if isinstance(structure, Mapping):
        pairs = zip(structure.keys, items, strict=True)
        return kind(**dict(pairs)) if dataclasses.is_dataclass(kind) else kind(pairs)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def _object(structure: Object, tensors: Iterator[torch.Tensor]) -> Any:
    """An object with the attributes and items of another, whose `__init__` has run for that."""
    kind = structure.kind
    made: Any = kind.__new__(kind)  # type: ignore[call-overload]
    for name, value in rebuild(structure.attributes, tensors).items():
        # Bypasses frozen dataclasses and properties.
        object.__setattr__(made, name, value)
    if structure.contents is not None:
        put = (OrderedDict if isinstance(made, OrderedDict) else dict).__setitem__
        for key, value in rebuild(structure.contents, tensors).items():
            put(made, key, value)
    return made


def attributes_of(value: Any) -> dict[str, Any]:
    """Attributes of an object, by name."""
    found = dict(vars(value)) if hasattr(value, "__dict__") else {}
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        found = {name: getattr(value, name) for name in names if hasattr(value, name)} | found
    return found


def _is_made_of_attributes(value: Any) -> bool:
    if isinstance(value, type):
        return False
    if isinstance(value, (dict, UserDict, SimpleNamespace)) or dataclasses.is_dataclass(value):
        return True
    return f"{type(value).__module__}.".startswith(_MADE_OF_ATTRIBUTES)


def name_of(value: Any) -> str:
    """The class of `value`, for messages."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def at(where: str) -> str:
    """The place among the results, for messages."""
    return f" at result{where}" if where else ""

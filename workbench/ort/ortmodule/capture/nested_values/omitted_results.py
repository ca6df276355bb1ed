"""Results that training does not read: left out of the graph, and computed when they are used."""

from __future__ import annotations

import copy
import operator
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_map

from workbench.errors import EngineError, UntrainableError
from workbench.ort.ortmodule.capture.nested_values import structure as kinds
from workbench.ort.ortmodule.capture.nested_values.structure import OmittedResult, Structure
from workbench.ort.ortmodule.capture.nested_values.structure_tensors import count_tensors


class ReadResults(NamedTuple):
    """The results of a module that training reads."""

    names: tuple[str, ...] = ()
    """Keys of a dict, names of fields, or places in a tuple or list as digits; empty: all."""
    optional: bool = False
    """Whether the result may lack some of them; all are read where it lacks every one."""


ALL = ReadResults()


class LaterResult:
    """Stands for a result that was not computed: any use of it computes it.

    It is not a tensor. A custom autograd function that is called with it would treat it as a
    constant, which is refused.
    """

    def __init__(self, name: str, compute: Callable[[], Any]) -> None:
        vars(self).update(_name=name, _compute=compute)

    def _value(self) -> Any:
        # Gradients are off in the forward pass of such a function.
        if not torch.is_grad_enabled() and _in_custom_function():
            raise EngineError(
                f"{self._name!r} was not computed, as training does not read it, and is not a "
                "tensor: a custom autograd function, or torch.utils.checkpoint with "
                f"use_reentrant=True, would give it no gradient. Pass {self._name}.clone(), or "
                f"add {self._name!r} to training_outputs."
            )
        return self._compute()

    def __repr__(self) -> str:
        return f"<{self._name!r}, computed when it is used>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            # Looked up by type checks.
            raise AttributeError(name)
        return getattr(self._value(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._value(), name, value)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self._value().__array__(*args, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        value = self._value()
        if isinstance(value, torch.Tensor):
            # A file of it holds a tensor, which `torch.load` reads anywhere.
            return value.__reduce_ex__(protocol)  # type: ignore[no-untyped-call]
        return _as_it_is, (value,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self._value(), memo)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        def computed(value: Any) -> Any:
            return value._value() if type(value) is cls else value

        return func(*tree_map(computed, args), **tree_map(computed, kwargs or {}))


def _as_it_is(value: Any) -> Any:
    return value


def _in_custom_function() -> bool:
    """Whether the caller is within the forward pass of a custom autograd function."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not _APPLY:
        frame = frame.f_back
    return frame is not None


_APPLY = torch.autograd.Function.apply.__code__


def _applied(function: Callable[..., Any], *, reflected: bool = False) -> Callable[..., Any]:
    def method(self: LaterResult, *args: Any) -> Any:
        return function(*args, self._value()) if reflected else function(self._value(), *args)

    return method


_BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"),
    *("lshift", "rshift"),
)
_OPERATORS = (
    *("getitem", "setitem", "contains", "index", "neg", "pos", "abs", "invert"),
    *("eq", "ne", "lt", "le", "gt", "ge"),
)
_BUILT_IN = (bool, int, float, complex, str, format, len, iter, reversed)


def _define_special_methods() -> None:
    """Those that Python does not look up by `__getattr__`."""
    for name in (*_BINARY, *_OPERATORS):
        setattr(LaterResult, f"__{name}__", _applied(getattr(operator, f"__{name}__")))
    for name in _BINARY:
        function = getattr(operator, f"__{name}__")
        setattr(LaterResult, f"__r{name}__", _applied(function, reflected=True))
        setattr(LaterResult, f"__i{name}__", _applied(getattr(operator, f"__i{name}__")))
    for built_in in _BUILT_IN:
        setattr(LaterResult, f"__{built_in.__name__}__", _applied(built_in))


_define_special_methods()


def leave_out(
    structure: Structure, tensors: list[torch.Tensor], read: ReadResults
) -> tuple[Structure, list[torch.Tensor]]:
    """Structure and tensors of a result without the tensors that training does not read.

    Args:
        structure: of the result.
        tensors: in the result, from left to right.
        read: what training reads of it.

    Raises:
        UntrainableError: the result lacks a name that is not optional.
    """
    held, ahead = _held(structure)
    keys: tuple[Any, ...]
    if isinstance(held, kinds.Mapping):
        keys = held.keys
        names = [str(key) for key in keys]
    elif isinstance(held, kinds.Sequence):
        keys = tuple(range(len(held.items)))
        names = list(getattr(held.kind, "_fields", None) or map(str, keys))
    elif read.optional:
        return structure, tensors
    else:
        raise UntrainableError(
            f"training_outputs={read.names}: the module returns one tensor or object, of which "
            "nothing can be left out. Return a dict, a tuple or a dataclass, or leave the option."
        )
    missing = [] if read.optional else [name for name in read.names if name not in names]
    if missing:
        raise UntrainableError(
            f"training_outputs={read.names}: the module's result has no {missing[0]!r}; it has "
            f"{', '.join(map(repr, names))}."
        )
    if not set(names) & set(read.names):
        return structure, tensors
    given = iter(tensors)
    items: list[Structure] = []
    kept = [next(given) for _ in range(ahead)]
    for name, key, item in zip(names, keys, held.items, strict=True):
        own = [next(given) for _ in range(count_tensors(item))]
        if name in read.names or not own:
            items.append(item)
            kept += own
        else:
            items.append(OmittedResult(name, key, _by_attribute(structure)))
    return _with_items(structure, items), kept


def _held(structure: Structure) -> tuple[kinds.Mapping | kinds.Sequence | None, int]:
    """What a result holds by name or place, and how many of its tensors come before that.

    None: it is one tensor or another object.
    """
    if not isinstance(structure, kinds.Object):
        named = isinstance(structure, kinds.Mapping | kinds.Sequence)
        return (structure if named else None), 0  # type: ignore[return-value]
    if structure.contents is None:
        return structure.attributes, 0
    return structure.contents, count_tensors(structure.attributes)


def _by_attribute(structure: Structure) -> bool:
    """Whether the parts of a result are attributes, as of a dataclass."""
    return isinstance(structure, kinds.Object) and structure.contents is None


def _with_items(structure: Structure, items: list[Structure]) -> Structure:
    """`structure` with other items in what `_held` returns."""
    made = tuple(items)
    if not isinstance(structure, kinds.Object):
        assert isinstance(structure, kinds.Mapping | kinds.Sequence)
        return structure._replace(items=made)
    if structure.contents is None:
        return structure._replace(attributes=structure.attributes._replace(items=made))
    return structure._replace(contents=structure.contents._replace(items=made))


def omits(structure: Structure) -> bool:
    """Whether a result of this structure lacks what `leave_out` left out."""
    held, _ = _held(structure)
    return held is not None and any(type(item) is OmittedResult for item in held.items)


def computed_later(structure: Structure, compute: Callable[[OmittedResult], Any]) -> Structure:
    """`structure` with a `LaterResult` for each that was left out.

    Args:
        structure: of the result of one call.
        compute: the value of such a result in that call.
    """
    held, _ = _held(structure)
    assert held is not None
    items = [
        item._replace(value=LaterResult(item.name, partial(compute, item)))
        if isinstance(item, OmittedResult)
        else item
        for item in held.items
    ]
    return _with_items(structure, items)

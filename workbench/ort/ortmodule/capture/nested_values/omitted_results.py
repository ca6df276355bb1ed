"""Results that training does not read: left out of the graph, and computed when they are used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_map

from workbench.errors import UntrainableError
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
    """Stands for a result that was not computed: any use of it computes it."""

    def __init__(self, name: str, compute: Callable[[], Any]) -> None:
        self._name = name
        self._compute = compute

    def __repr__(self) -> str:
        return f"<{self._name!r}, computed when it is used>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            # Looked up by type checks.
            raise AttributeError(name)
        return getattr(self._compute(), name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _as_it_is, (self._compute(),)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        def computed(value: Any) -> Any:
            return value._compute() if type(value) is cls else value

        return func(*tree_map(computed, args), **tree_map(computed, kwargs or {}))


def _as_it_is(value: Any) -> Any:
    return value


def _delegated(name: str) -> Callable[..., Any]:
    def method(self: LaterResult, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._compute(), name)(*args, **kwargs)

    return method


_SPECIAL = (
    *("getitem", "len", "iter", "contains", "bool", "float", "int", "index", "array"),
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"),
    *("radd", "rsub", "rmul", "rtruediv", "rpow", "rmatmul", "neg", "abs", "invert"),
    *("eq", "ne", "lt", "le", "gt", "ge"),
)
"""Special methods, which Python does not look up by `__getattr__`."""

for _name in _SPECIAL:
    setattr(LaterResult, f"__{_name}__", _delegated(f"__{_name}__"))


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
    keys: tuple[Any, ...]
    if isinstance(structure, kinds.Mapping):
        keys = structure.keys
        names = [str(key) for key in keys]
    elif isinstance(structure, kinds.Sequence):
        keys = tuple(range(len(structure.items)))
        names = list(getattr(structure.kind, "_fields", None) or map(str, keys))
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
    kept: list[torch.Tensor] = []
    for name, key, item in zip(names, keys, structure.items, strict=True):
        own = [next(given) for _ in range(count_tensors(item))]
        if name in read.names or not own:
            items.append(item)
            kept += own
        else:
            items.append(OmittedResult(name, key))
    return structure._replace(items=tuple(items)), kept


def omits(structure: Structure) -> bool:
    """Whether a result of this structure lacks what `leave_out` left out."""
    items = structure.items if isinstance(structure, kinds.Mapping | kinds.Sequence) else ()
    return any(type(item) is OmittedResult for item in items)


def computed_later(structure: Structure, compute: Callable[[OmittedResult], Any]) -> Structure:
    """`structure` with a `LaterResult` for each that was left out.

    Args:
        structure: of the result of one call.
        compute: the value of such a result in that call.
    """
    assert isinstance(structure, kinds.Mapping | kinds.Sequence)
    items = [
        item._replace(value=LaterResult(item.name, partial(compute, item)))
        if isinstance(item, OmittedResult)
        else item
        for item in structure.items
    ]
    return structure._replace(items=tuple(items))

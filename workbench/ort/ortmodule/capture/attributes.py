"""State that a graph holds as constants: attributes, and variables that functions read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from operator import attrgetter, eq, is_, le
from types import FunctionType, ModuleType
from typing import Any

import torch
from torch import nn

from workbench.export.effects.state_snapshot import RECURRENT_CACHES, derived_tensors
from workbench.export.effects.user_functions import (
    UserFunctions,
    globals_read,
    is_looked_into,
    is_users,
    user_classes,
)

BOOKKEEPING = frozenset(vars(nn.Module())) - {"_modules"}
"""Attributes that every module has; the registry of its submodules may be replaced."""

_ABSENT = object()
_MOST = 10_000
"""Largest number of watched containers."""

_version = attrgetter("_version")
_contents = attrgetter("cell_contents")
_forward = attrgetter("forward")


class Attributes:
    """Detects changes from outside, such as of the rate of a Dropout.

    Watched are the attributes of layers, and those of the user's modules that a forward pass names;
    the classes of the modules; variables of closures, classes and Python modules that it names; and
    the contents of lists, dicts and objects among them. Tensors are watched for changes that
    autograd counts. Values that a forward pass itself writes are excluded: they change at every
    call.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        """Start to watch the current values.

        Args:
            modules: a module and all in it.
        """
        self.left_out = False
        """Whether something is no longer watched."""
        self._modules = modules
        self._types = list(map(type, modules))
        self._classes: list[type[nn.Module]] = list(dict.fromkeys(self._types))
        self._forwards = list(map(_forward, self._classes))
        self._owners = list(map(vars, modules))
        self._count = sum(map(len, self._owners))
        self._pairs: list[tuple[dict[str, Any], Mapping[str, Any]]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._cells: list[Any] = []
        self._tensors: dict[int, torch.Tensor] = {}
        self._seen: set[int] = set()
        called = UserFunctions(modules[0])
        for each in modules:
            own, derived = vars(each), derived_tensors(each) | RECURRENT_CACHES
            chosen = is_users(type(each)) and not called.reads_any
            self._watch(
                own,
                (
                    name
                    for name in own
                    if name not in BOOKKEEPING
                    and name not in derived
                    and (not chosen or name in called.names or name == "_modules")
                ),
            )
        for function in called.functions:
            scope = function.__globals__
            names = (name for name in set(globals_read(function.__code__)) if name in scope)
            self._watch(scope, names)
            self._cells += [cell for cell in function.__closure__ or () if _is_set(cell)]
        for base in user_classes(modules[0]):
            self._watch(vars(base), (name for name in vars(base) if name in called.names))
        self._values = list(map(_contents, self._cells))
        for value in self._values:
            self._visit(value)
        self._record_versions()

    def unchanged(self) -> bool:
        """Whether nothing has changed; takes half a microsecond for a module."""
        try:
            return (
                all(starmap(le, self._views))
                and all(starmap(eq, self._containers))
                and all(map(is_, map(_contents, self._cells), self._values))
                and list(map(_version, self._held)) == self._versions
                and sum(map(len, self._owners)) == self._count
                and list(map(type, self._modules)) == self._types
                and list(map(_forward, self._classes)) == self._forwards
            )
        except (RuntimeError, ValueError):
            # A tensor or array in place of a number does not compare to it.
            return False

    def leave_out_changed(self) -> None:
        """Stop watching what has changed: a forward pass has just written it."""
        if self.unchanged():
            return
        self.left_out = True
        for held, now in self._pairs:
            for name in [name for name in held if now.get(name, _ABSENT) is not held[name]]:
                del held[name]
        self._containers = [pair for pair in self._containers if _is_equal(*pair)]
        kept = [
            (cell, value)
            for cell, value in zip(self._cells, self._values, strict=True)
            if cell.cell_contents is value
        ]
        self._cells, self._values = [cell for cell, _ in kept], [value for _, value in kept]
        versions = zip(self._held, self._versions, strict=True)
        self._tensors = {id(each): each for each, version in versions if each._version == version}
        self._count = sum(map(len, self._owners))
        self._record_versions()

    def _record_versions(self) -> None:
        views: Any = [(held.items(), now.items()) for held, now in self._pairs if held]
        self._views = views
        self._held = list(self._tensors.values())
        self._versions = list(map(_version, self._held))

    def _watch(self, now: Mapping[str, Any], names: Iterable[str]) -> None:
        held = {name: now[name] for name in names}
        self._pairs.append((held, now))
        for name, value in held.items():
            if name != "_modules":
                self._visit(value)

    def _visit(self, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            if not value.is_inference():
                self._tensors[id(value)] = value
            return
        if isinstance(value, (str, type, FunctionType, ModuleType, nn.Module)):
            return
        if id(value) in self._seen or len(self._containers) > _MOST:
            return
        held: Iterable[Any]
        copied: Any
        if isinstance(value, list | deque | set):
            held, copied = value, value.copy()
        elif isinstance(value, dict):
            held, copied = value.values(), dict(value)
        elif is_looked_into(value):
            value = vars(value)
            held, copied = value.values(), dict(value)
        elif isinstance(value, tuple):
            held, copied = value, value
        else:
            return
        self._seen.add(id(value))
        if not isinstance(value, tuple):
            self._containers.append((value, copied))
        for item in list(held):
            self._visit(item)


def _is_set(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _is_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except (RuntimeError, ValueError):
        return False

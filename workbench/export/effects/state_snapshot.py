"""A snapshot of the Python state of a module, to find what has changed since.

Attributes of all submodules, and what lists, dicts and objects among them hold; variables of
closures, of Python modules and of classes that the user's functions read. Each container is stored
with a shallow copy; its items are stored separately.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from workbench.export.effects.container_contents import access_to
from workbench.export.effects.user_functions import (
    UserFunctions,
    globals_read,
    user_classes,
)

_PLAIN = (bool, int, float, complex, str, bytes, torch.dtype, torch.device)

_MOST = 50_000
"""Most containers that are visited; state of a forward pass is expected among them."""

_REGISTRIES = {"_parameters": "parameter", "_buffers": "buffer"}


RECURRENT_CACHES = frozenset({"_flat_weights", "_flat_weight_refs"})
"""Attributes in which torch's recurrent layers store their weights a second time."""


class SnapshotTensor(NamedTuple):
    """A tensor with its owner."""

    kind: str
    """Kind of its owner: "parameter", "buffer", "argument" or "state"."""
    name: str
    tensor: torch.Tensor


class _Container(NamedTuple):
    kind: str
    name: Callable[[Any], str]
    """Name of the value of a key."""
    read: Callable[[], Mapping[Any, Any]]
    write: Callable[[Mapping[Any, Any]], None]
    before: Mapping[Any, Any]


class Change(NamedTuple):
    """A value that has changed."""

    kind: str
    """As in `SnapshotTensor`."""
    name: str


class StateSnapshot:
    """The state of `module` and `arguments` at the time of construction."""

    def __init__(self, module: nn.Module, arguments: Any = ()) -> None:
        self._containers: list[_Container] = []
        self.tensors: list[SnapshotTensor] = []
        """Each once, parameters and buffers included."""
        self._seen: set[int] = set()
        for path, each in module.named_modules():
            self._module(each, path)
        for function in UserFunctions(module).functions:
            self._function(function)
        for base in user_classes(module):
            self._class(base)
        self._visit(arguments, "argument", "")
        self._visit(random._inst, "state", "the random generator of Python")
        kept = np.random.get_state(legacy=False)
        self._containers.append(
            _Container(
                "state",
                lambda _: "the random generator of numpy",
                lambda: {"": repr(np.random.get_state(legacy=False))},
                lambda _: np.random.set_state(kept),
                {"": repr(kept)},
            )
        )

    def changes(self) -> list[Change]:
        """Changes since construction; tensors are compared by identity alone."""
        found: dict[Change, None] = {}
        for each in self._containers:
            now = each.read()
            for key in _different(each.before, now):
                found[Change(each.kind, each.name(key))] = None
        return list(found)

    def unregistered(self) -> list[str]:
        """Tensors that get a gradient but are no parameters, as those of layers in a list."""
        found = [
            each.name
            for each in self.tensors
            if each.kind == "state" and each.tensor.is_leaf and each.tensor.requires_grad
        ]
        return list(dict.fromkeys(found))

    def computed(self) -> list[SnapshotTensor]:
        """Tensors that were computed elsewhere and pass a gradient on, as a generated weight."""
        return [each for each in self.tensors if each.kind == "state" and each.tensor.grad_fn]

    def restore(self) -> None:
        """Restore everything that was replaced, added or removed."""
        for each in self._containers:
            if any(True for _ in _different(each.before, each.read())):
                each.write(each.before)

    def _module(self, module: nn.Module, path: str, holder: str = "") -> None:
        """Record the state of `module`; one that is not a submodule has the name of its
        `holder`."""
        if id(module) in self._seen:
            return
        self._seen.add(id(module))
        prefix = f"{path}." if path else ""
        derived = derived_tensors(module) | RECURRENT_CACHES

        def read() -> dict[str, Any]:
            return {name: value for name, value in vars(module).items() if name not in derived}

        def write(before: Mapping[Any, Any]) -> None:
            own = vars(module)
            for name in [name for name in own if name not in before and name not in derived]:
                del own[name]
            own.update(before)

        before = read()
        self._containers.append(
            _Container(
                "state", lambda name: f"its attribute {prefix + name!r}", read, write, before
            )
        )
        for name, value in before.items():
            if name in _REGISTRIES:
                kind = "state" if holder else _REGISTRIES[name]
                self._dict(value, kind, lambda key: holder or f"{prefix}{key}")
                for key, tensor in value.items():
                    self._tensor(tensor, kind, holder or f"{prefix}{key}")
            elif name == "_modules":
                self._dict(value, "state", lambda key: f"its attribute {f'{prefix}{key}'!r}")
            else:
                self._visit(value, "state", f"its attribute {prefix + name!r}")

    def _function(self, function: FunctionType) -> None:
        scope, read = function.__globals__, set(globals_read(function.__code__))
        names = [name for name in read if name in scope]
        self._names(scope, names, lambda name: f"the global variable {name!r}")
        for name in names:
            self._visit(scope[name], "state", f"the global variable {name!r}")
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self._cell(cell, f"the variable {name!r} of an enclosing function")

    def _class(self, base: type) -> None:
        shown = base.__qualname__.rpartition("<locals>.")[2]

        def read() -> dict[str, Any]:
            return {n: v for n, v in vars(base).items() if not n.startswith("__")}

        def write(before: Mapping[Any, Any]) -> None:
            for name, value in before.items():
                setattr(base, name, value)

        before = read()
        self._containers.append(
            _Container("state", lambda n: f"the class attribute '{shown}.{n}'", read, write, before)
        )
        for name, value in before.items():
            self._visit(value, "state", f"the class attribute '{shown}.{name}'")

    def _cell(self, cell: Any, name: str) -> None:
        if id(cell) in self._seen:
            return
        self._seen.add(id(cell))

        def read() -> dict[str, Any]:
            try:
                return {"": cell.cell_contents}
            except ValueError:
                return {}

        def write(before: Mapping[Any, Any]) -> None:
            if before:
                cell.cell_contents = before[""]

        before = read()
        self._containers.append(_Container("state", lambda _: name, read, write, before))
        self._visit(before.get(""), "state", name)

    def _names(self, scope: dict[str, Any], names: list[str], name: Callable[[Any], str]) -> None:
        def read() -> dict[str, Any]:
            return {each: scope[each] for each in names if each in scope}

        self._containers.append(_Container("state", name, read, scope.update, read()))

    def _dict(self, held: dict[Any, Any], kind: str, name: Callable[[Any], str]) -> None:
        if id(held) in self._seen:
            return
        self._seen.add(id(held))

        def write(before: Mapping[Any, Any]) -> None:
            held.clear()
            held.update(before)

        self._containers.append(_Container(kind, name, lambda: dict(held), write, dict(held)))

    def _tensor(self, value: Any, kind: str, name: str) -> None:
        if isinstance(value, torch.Tensor) and id(value) not in self._seen:
            self._seen.add(id(value))
            self.tensors.append(SnapshotTensor(kind, name, value))

    def _visit(self, value: Any, kind: str, name: str) -> None:
        if value is None or isinstance(value, (*_PLAIN, type, FunctionType)):
            return
        if isinstance(value, torch.Tensor):
            self._tensor(value, kind, name)
        elif isinstance(value, nn.Module):
            for path, each in value.named_modules():
                self._module(each, path, name)
        elif id(value) not in self._seen and len(self._containers) < _MOST:
            self._container(value, kind, name)

    def _container(self, value: Any, kind: str, name: str) -> None:
        held: Any
        if isinstance(value, dict):
            self._dict(value, kind, lambda _: name)
            held = value.values()
        else:
            self._seen.add(id(value))
            held = ()
            if isinstance(value, tuple):
                held = value
            else:
                access = access_to(value)
                if access is not None:
                    read, write = access
                    before = read()
                    self._containers.append(_Container(kind, lambda _: name, read, write, before))
                    held = before.values()
        for item in list(held):
            self._visit(item, kind, name)


def derived_tensors(module: nn.Module) -> frozenset[str]:
    """Attributes that weight normalization, pruning and similar hooks compute before each call."""
    hooks = module._forward_pre_hooks.values()
    named = [getattr(hook, "name", None) or getattr(hook, "_tensor_name", None) for hook in hooks]
    return frozenset(name for name in named if isinstance(name, str))


def _different(before: Mapping[Any, Any], now: Mapping[Any, Any]) -> Iterator[Any]:
    yield from (key for key in before if key not in now or not _same(before[key], now[key]))
    yield from (key for key in now if key not in before)


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, _PLAIN) and bool(one == other)

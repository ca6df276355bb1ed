"""Whether a module of the notebook has changed since it was loaded."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from workbench.controller.model.namespace import is_model, is_module


class ModuleStamp:
    """Identity of a module's parts and versions of its tensors, as they are now.

    Nothing is kept alive by it, no method of a user's class is called, and no tensor is read: a
    change in place, such as `weight.fill_(0)` under `no_grad`, raises the version of the tensor. A
    write through `.data` or NumPy does not, and is not noticed.
    """

    def __init__(self, value: Any) -> None:
        """Take the stamp of an `nn.Module` or a `Model`."""
        parts = _module_parts(value) if is_module(value) else iter([(value, 0)])
        self._parts = [(weakref.ref(part), version) for part, version in parts]

    def matches(self, other: ModuleStamp) -> bool:
        """Whether both are of the same, unchanged object."""
        return len(self._parts) == len(other._parts) and all(
            mine() is not None and mine() is theirs() and version == other_version
            for (mine, version), (theirs, other_version) in zip(
                self._parts, other._parts, strict=True
            )
        )


def stamp_of(value: object) -> ModuleStamp | None:
    """The stamp of an object of the notebook; None: it is neither a module nor a `Model`."""
    return ModuleStamp(value) if is_module(value) or is_model(value) else None


def _module_parts(module: Any) -> Iterator[tuple[Any, int]]:
    """Modules and tensors, each with its version."""
    seen: set[int] = set()
    waiting = [module]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each, 0
        fields = vars(each)
        for name in ("_parameters", "_buffers"):
            for tensor in [*fields.get(name, {}).values()]:
                if tensor is not None:
                    yield tensor, 0 if tensor.is_inference() else tensor._version
        waiting += [part for part in fields.get("_modules", {}).values() if part is not None]

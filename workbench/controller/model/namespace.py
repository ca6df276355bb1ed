"""Models, datasets and arrays found in the notebook's own names; none of them is executed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from workbench.data import Dataset
from workbench.errors import FROM_USER_CODE, exception_text
from workbench.models import Model

Kind = Literal["model", "dataset", "array"]


class Named(NamedTuple):
    """An object of the notebook that can be used here."""

    name: str
    kind: Kind
    detail: str
    """Short description of the object."""


class Unreadable(NamedTuple):
    """An object of the notebook that could not be inspected."""

    name: str
    why: str


def own_names() -> Mapping[str, Any]:
    """The names of the notebook, or of the running program, without those of IPython."""
    names = vars(sys.modules["__main__"])
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    hidden = getattr(shell, "user_ns_hidden", {})
    return {name: value for name, value in names.items() if hidden.get(name, names) is not value}


def look(names: Mapping[str, Any]) -> tuple[list[Named], list[Unreadable]]:
    """Usable objects of the notebook, and those that raised an error when inspected.

    Only the class and the shape of an object are read; names that begin with "_" are left out,
    as IPython's own history is.
    """
    found: list[Named] = []
    unreadable: list[Unreadable] = []
    for name, value in list(names.items()):
        if name.startswith("_") or name in ("In", "Out") or issubclass(type(value), type):
            continue
        kind = _kind(value)
        if kind is None:
            continue
        try:
            found.append(Named(name, kind, _detail(value)))
        except FROM_USER_CODE as error:
            unreadable.append(Unreadable(name, exception_text(error)))
    return found, unreadable


def is_module(value: object) -> bool:
    """Whether it is an `nn.Module`; torch is not imported for that."""
    return _is_a(value, "torch.nn", "Module")


def _kind(value: object) -> Kind | None:
    # By its type, not by `isinstance`, which asks the object for its `__class__`.
    if issubclass(type(value), Model) or is_module(value):
        return "model"
    if issubclass(type(value), Dataset) or _is_a(value, "torch.utils.data", "Dataset"):
        return "dataset"
    if issubclass(type(value), np.ndarray) or _is_a(value, "torch", "Tensor"):
        return "array"
    return None


def _is_a(value: object, module: str, name: str) -> bool:
    base = getattr(sys.modules.get(module), name, None)
    return isinstance(base, type) and issubclass(type(value), base)


def _detail(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, Model):
        return f"Model {value.name!r}"
    if isinstance(value, Dataset):
        return f"Dataset {value.name!r}, {len(value.train):,} training rows"
    if is_module(value):
        count = sum(parameter.numel() for parameter in value.parameters())
        return f"{kind}, {count:,} parameters"
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"{kind} of shape {tuple(int(size) for size in shape)}"
    return f"{kind}, {len(value):,} rows"

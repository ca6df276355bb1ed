"""Models, datasets and arrays found in the notebook's own names; none of them is executed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np

from workbench.data import Dataset
from workbench.models import Model

Kind = Literal["model", "dataset", "array"]
MOST_PAIRS = 12


class Named(NamedTuple):
    """An object of the notebook that can be used here."""

    name: str
    kind: Kind
    detail: str
    """Short description of the object."""


def own_names() -> Mapping[str, Any]:
    """The names of the notebook, or of the running program, without those of IPython."""
    names = vars(sys.modules["__main__"])
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    hidden = getattr(shell, "user_ns_hidden", {})
    return {name: value for name, value in names.items() if hidden.get(name, names) is not value}


def look(names: Mapping[str, Any]) -> list[Named]:
    """Usable objects of the notebook.

    No method of a user's class is called, as one may take long or raise: what is wrong with an
    object is reported when it is chosen. Names that begin with "_" are left out, as IPython's own
    history is.
    """
    found: list[Named] = []
    for name, value in list(names.items()):
        if name.startswith("_") or name in ("In", "Out") or issubclass(type(value), type):
            continue
        kind = _kind(value)
        if kind is not None:
            found.append(Named(name, kind, _detail(value)))
    return found


def array_pairs(names: Mapping[str, Any]) -> list[Named]:
    """Two arrays or tensors of the notebook with as many rows each, which may be the inputs and the
    target of a dataset: as "X, y". The one with more axes is the inputs, of as many the one that
    was defined first."""
    arrays = [(each.name, _shape(names[each.name])) for each in look(names) if each.kind == "array"]
    found = list[Named]()
    for (first, one), (second, other) in combinations(arrays, 2):
        if len(found) == MOST_PAIRS:  # it is called as a user types
            break
        if len(one) == 0 or len(other) == 0 or one[0] != other[0] or one[0] < 2:
            continue
        pair = [(first, one), (second, other)]
        (inputs, wide), (target, narrow) = sorted(pair, key=lambda each: -len(each[1]))
        detail = f"inputs of shape {wide}, target of shape {narrow}"
        found.append(Named(f"{inputs}, {target}", "dataset", detail))
    return found


def _shape(value: Any) -> tuple[int, ...]:
    """By the base classes: a subclass may have another."""
    if issubclass(type(value), np.ndarray):
        return tuple(np.ndarray.shape.__get__(value))
    return tuple(sys.modules["torch"].Tensor.shape.__get__(value))


def is_module(value: object) -> bool:
    """Whether it is an `nn.Module`; torch is not imported for that."""
    return _is_a(value, "torch.nn", "Module")


def is_model(value: object) -> TypeGuard[Model]:
    """Whether it is a `Model`: by its type, as `isinstance` asks the object for its `__class__`."""
    return issubclass(type(value), Model)


def is_dataset(value: object) -> TypeGuard[Dataset]:
    """Whether it is a `Dataset`."""
    return issubclass(type(value), Dataset)


def is_arrays(value: object) -> bool:
    """Whether it is an array or a tensor, or a tuple or list of them: inputs without a target."""
    if type(value) in (tuple, list):
        return bool(value) and all(_kind(each) == "array" for each in value)  # type: ignore[attr-defined]
    return _kind(value) == "array"


def _kind(value: object) -> Kind | None:
    if is_model(value) or is_module(value):
        return "model"
    if is_dataset(value) or _is_a(value, "torch.utils.data", "Dataset"):
        return "dataset"
    if issubclass(type(value), np.ndarray) or _is_a(value, "torch", "Tensor"):
        return "array"
    return None


def _is_a(value: object, module: str, name: str) -> bool:
    base = getattr(sys.modules.get(module), name, None)
    return isinstance(base, type) and issubclass(type(value), base)


def _detail(value: Any) -> str:
    kind = type(value)
    if is_model(value):
        return f"Model {value.name!r}"
    if is_dataset(value):
        return f"Dataset {value.name!r}, {len(value.train):,} training rows"
    # By the methods of the base classes: a subclass may have others.
    if is_module(value):
        parameters = sys.modules["torch.nn"].Module.parameters(value)
        return f"{kind.__name__}, {sum(each.numel() for each in parameters):,} parameters"
    if kind is np.ndarray or _is_a(value, "torch", "Tensor"):
        return f"{kind.__name__} of shape {tuple(value.shape)}"
    return kind.__name__

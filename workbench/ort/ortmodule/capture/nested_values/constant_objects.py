"""Non-tensor results: verified at other sizes, and copied for every call.

The results of an export are those of one trial call. A string made from a size has the exporter's
symbol for it, or the size of the trial. PyTorch therefore runs the module too, with
the tensors of the call and with larger ones, and the recorded results are compared with those.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from types import CellType, FunctionType, GeneratorType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

from workbench.errors import UntrainableError
from workbench.ort.ortmodule.capture.nested_values import structure as nested
from workbench.ort.ortmodule.capture.nested_values.graph_values import held_by, holds_no_call_values
from workbench.ort.ortmodule.capture.nested_values.structure import (
    Constant,
    ConstantObject,
    Structure,
    rebuild,
)
from workbench.ort.ortmodule.capture.preserved_buffers import preserved_buffers

_SIZE_DEPENDENT = (str, bytes, int, float, complex)
"""Types of constants that can depend on a size."""

_ABSENT = object()

_FIXED = (tuple, frozenset, FunctionType, type(None))
"""Types whose objects hold nothing that a call could change, other than what they refer to."""


def verified_results(
    structure: Structure,
    module: nn.Module,
    arguments: Structure,
    tensors: Sequence[torch.Tensor],
    axes: Sequence[Mapping[int, str]],
    autocast: torch.dtype | None = None,
) -> Structure:
    """`structure` of the module's result in the export, prepared for being returned.

    Args:
        structure: of the results.
        module: unchanged afterwards, except for writes of its forward to its own objects.
        arguments: structure of the pair (args, kwargs) of the call.
        tensors: those of the call.
        axes: for each tensor, the names of its dynamic axes.
        autocast: autocast dtype of the call; None: it is off.

    Raises:
        UntrainableError: an object or number among the results differs in another call, or
            cannot be copied; names it.
    """
    if not _needs_comparison(structure):
        return structure
    # Under autocast an object may keep the dtype of a tensor, as transformers' caches do.
    with torch.autocast("cpu", autocast, enabled=autocast is not None, cache_enabled=False):
        results = _results(module, arguments, tensors, axes)
    for real in results:
        structure = _verified_against(structure, real, "")
    return structure


def _needs_comparison(structure: Structure) -> bool:
    match structure:
        case ConstantObject():
            return True
        case Constant(_, value):
            return isinstance(value, _SIZE_DEPENDENT)
        case nested.Mapping(_, keys, items):
            return any(isinstance(key, _SIZE_DEPENDENT) for key in keys) or any(
                map(_needs_comparison, items)
            )
        case nested.Sequence(_, items) | nested.Registered(_, _, items):
            return any(map(_needs_comparison, items))
        case nested.Object(_, attributes, contents):
            return any(_needs_comparison(part) for part in (*attributes.items, contents) if part)
    return False


def _results(
    module: nn.Module,
    arguments: Structure,
    tensors: Sequence[torch.Tensor],
    axes: Sequence[Mapping[int, str]],
) -> list[Any]:
    """PyTorch's results for the call's tensors and, where the module takes them, larger ones."""
    found = []
    names = dict.fromkeys(name for each in axes for name in each.values())
    with _as_before(module):
        for name in (None, *names):
            larger = [
                _doubled(tensor, [axis for axis, other in each.items() if other == name])
                for tensor, each in zip(tensors, axes, strict=True)
            ]
            args, kwargs = rebuild(arguments, iter(larger))
            try:
                found.append(module.forward(*args, **kwargs))
            except Exception:
                if name is None:
                    raise
    return found


def _doubled(tensor: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    made = tensor.detach().clone()
    for axis in axes:
        made = torch.cat([made, made], axis)
    return made


@contextmanager
def _as_before(module: nn.Module) -> Iterator[None]:
    """Context that undoes a trial's changes of attributes, buffers and random generators."""
    attributes = [(vars(each), dict(vars(each))) for each in module.modules()]
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]), preserved_buffers(module.buffers()):
        try:
            yield
        finally:
            for now, before in attributes:
                now.clear()
                now.update(before)
            random.setstate(python)
            np.random.set_state(numpy)


def _verified_against(structure: Structure, real: Any, where: str) -> Structure:
    """`structure` if `real` fits it, with the shared objects of each kept object."""
    match structure:
        case Constant(kind, value):
            if type(real) is not kind or not _same(value, real):
                raise _difference_error(where, value)
        case ConstantObject(value):
            shared = (*(structure.shared or ()), *_compared(value, real, where))
            made = ConstantObject(value, shared)
            try:
                rebuild(made, iter(()))
            except Exception as error:
                raise UntrainableError(
                    f"ORTModule cannot return a {nested.name_of(value)}, which the module "
                    f"returns{nested.at(where)}: it cannot be copied, {error}. Create it outside "
                    "the module."
                ) from error
            return made
        case nested.Mapping(kind, keys, items):
            if tuple(real) != keys:
                raise _difference_error(where, keys)
            pairs = zip(keys, items, strict=True)
            parts = [_verified_against(item, real[key], f"{where}[{key!r}]") for key, item in pairs]
            return nested.Mapping(kind, keys, tuple(parts))
        case nested.Sequence(kind, items):
            return nested.Sequence(kind, _all_against(items, real, where))
        case nested.Registered(kind, context, items):
            children = pytree.SUPPORTED_NODES[kind].flatten_fn(real)[0]
            return nested.Registered(kind, context, _all_against(items, children, where))
        case nested.Object(kind, attributes, contents):
            held = nested.attributes_of(real)
            parts = [
                _verified_against(item, held.get(key, _ABSENT), f"{where}.{key}")
                for key, item in zip(attributes.keys, attributes.items, strict=True)
            ]
            own = attributes._replace(items=tuple(parts))
            inner = None if contents is None else _verified_against(contents, real, where)
            return nested.Object(kind, own, inner)  # type: ignore[arg-type]
    return structure


def _all_against(items: Sequence[Any], real: Any, where: str) -> tuple[Any, ...]:
    pairs: Any = enumerate(zip_longest(items, real, fillvalue=_ABSENT))
    return tuple(
        _verified_against(item, each, f"{where}[{place}]") for place, (item, each) in pairs
    )


def _compared(kept: Any, real: Any, where: str) -> list[Any]:
    """Objects reachable from `kept` that are the same in every call, or the module's, or a tensor.

    Raises:
        UntrainableError: they differ, or `kept` cannot be copied for each call.
    """
    shared = []
    # What an object holds may change, what a function holds may not: both paths to it are checked.
    seen: dict[tuple[int, bool], Any] = {}
    left = [(kept, real, False)]
    while left:
        one, other, by_function = left.pop()
        if one is other or holds_no_call_values(one) or isinstance(one, torch.Tensor):
            if isinstance(one, (str, bytes, int, float)) and not _same(one, other):
                raise _difference_error(where, one)
            shared.append(one)
            continue
        if (id(one), by_function) in seen:
            continue
        seen[id(one), by_function] = one
        if type(one) is not type(other):
            raise _difference_error(where, one)
        # A function is not copied, so what a call has put into it must not change.
        changes = by_function and not isinstance(one, _FIXED)
        if isinstance(one, (CellType, GeneratorType)) or changes:
            raise UntrainableError(
                f"ORTModule cannot return a {nested.name_of(kept)}, which the module returns"
                f"{nested.at(where)}: it holds a {nested.name_of(one)}, which cannot be copied, "
                "so its state would be shared between calls. Return its contents instead."
            )
        for each in (one, other):
            # Until it is read, an object refers to its attributes without a dict in between.
            getattr(each, "__dict__", None)
        inside = by_function or isinstance(one, FunctionType)
        if not isinstance(one, FunctionType):
            pairs = zip(held_by(one), held_by(other), strict=False)
        else:
            pairs = zip(_kept_by(one), _kept_by(other), strict=False)
        left += [(mine, theirs, inside) for mine, theirs in pairs]
    return shared


def _kept_by(function: FunctionType) -> list[Any]:
    """Objects that a function holds between its calls: closure, defaults and attributes."""
    named = {**(function.__kwdefaults__ or {}), **function.__dict__}
    cells = [_held_in(cell) for cell in function.__closure__ or ()]
    return [*cells, *(function.__defaults__ or ()), *named.values()]


def _held_in(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        # The function refers to a name that was never assigned.
        return None


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other or (one != one and other != other))  # noqa: PLR0124 -- NaN


def _difference_error(where: str, value: Any) -> UntrainableError:
    return UntrainableError(
        f"ORTModule cannot return the {nested.name_of(value)} {value!r:.80}, which the module "
        f"returns{nested.at(where)}: it depends on the sizes of the tensors, or differs between "
        "calls, and a graph would always return the one of its export. Create it outside the "
        "module, from what the module returns."
    )

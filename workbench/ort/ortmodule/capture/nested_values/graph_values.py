"""Detects values of the graph in an object that a module returns."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch._subclasses.fake_tensor import is_fake

_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)

_STATIC_TYPES = (type, ModuleType, CodeType, nn.Module, str, bytes, int, float)
"""Types whose objects hold no value of a call, or only state of the module."""

_MAX_OBJECTS = 100_000
"""Largest number of objects that a search visits."""


def holds_graph_values(value: Any) -> bool:
    """Whether `value` holds a tensor or size of the graph that is being exported, at any depth.

    Follows attributes, slots, items, closures and everything that Python's garbage collector
    follows. An object that refers to more objects than the limit counts as one that does.
    """
    tracing = torch._C._get_tracing_state() is not None
    visited: dict[int, Any] = {id(value): value}
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, _SYMBOLS):
            return True
        if isinstance(each, torch.Tensor):
            if tracing or is_fake(each):
                return True
            continue
        for held in held_by(each):
            if id(held) not in visited and not isinstance(held, _STATIC_TYPES):
                # Kept alive, so that no other object gets its id.
                visited[id(held)] = held
                pending.append(held)
        if len(visited) > _MAX_OBJECTS:
            return True
    return False


def holds_no_call_values(value: Any) -> bool:
    """Whether `value` holds nothing of a call, or only state of the module."""
    return isinstance(value, _STATIC_TYPES)


def held_by(each: Any) -> Iterable[Any]:
    """Objects that `each` refers to, in an order that is the same for objects alike."""
    if isinstance(each, np.ndarray) and each.dtype.hasobject:
        # The garbage collector does not look into arrays.
        return [each.tolist()]
    if isinstance(each, FunctionType):
        # Not its globals, which are those of its file.
        return [*(each.__closure__ or ()), each.__defaults__, each.__kwdefaults__, each.__dict__]
    return gc.get_referents(each)

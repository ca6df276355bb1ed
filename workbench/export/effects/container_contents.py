"""How to read and restore the contents of an object."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from workbench.export.effects.user_functions import is_looked_into

Access = tuple[Callable[[], dict[Any, Any]], Callable[[Mapping[Any, Any]], None]]
"""Functions that read the content, by keys of any type, and write back content read before."""


def access_to(value: Any) -> Access | None:
    """The access to a list, set, array, random generator or object; None for another."""
    if isinstance(value, list | deque):

        def extend(before: Mapping[Any, Any]) -> None:
            value.clear()
            value.extend(before.values())

        return lambda: dict(enumerate(value)), extend
    if isinstance(value, set):
        return _of_updatable(value, lambda: dict.fromkeys(value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        kept = value.copy()
        return lambda: {"": np.array_equal(kept, value)}, lambda _: np.copyto(value, kept)
    if is_looked_into(value):
        own = vars(value)
        return _of_updatable(own, lambda: dict(own))
    return _of_generator(value)


def _of_updatable(held: Any, read: Callable[[], dict[Any, Any]]) -> Access:
    def update(before: Mapping[Any, Any]) -> None:
        held.clear()
        held.update(before)

    return read, update


def _of_generator(value: Any) -> Access | None:
    if isinstance(value, random.Random):
        return lambda: {"": value.getstate()}, lambda before: value.setstate(before[""])
    if isinstance(value, np.random.Generator):
        bits = value.bit_generator
        before = bits.state

        def put_back(_: Mapping[Any, Any]) -> None:
            bits.state = before

        return lambda: {"": repr(bits.state)}, put_back
    if isinstance(value, torch.Generator):
        drawn = value.get_state()

        def set_state(_: Mapping[Any, Any]) -> None:
            value.set_state(drawn)

        return lambda: {"": drawn.equal(value.get_state())}, set_state
    return None

"""Numbers, strings and the like that are attributes of modules: a graph has them as they were."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import starmap
from operator import le
from typing import Any

from torch import nn

_PLAIN = frozenset({bool, int, float, str, type(None)})
_ABSENT = object()


class Attributes:
    """Tells whether an attribute was changed from outside, such as the rate of a Dropout.

    What a forward pass itself writes is left out: it would be new at every call.
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        self._pairs = [(_plain(module), vars(module)) for module in modules]
        views: Any = [(held.items(), now.items()) for held, now in self._pairs]
        self._views = views

    def unchanged(self) -> bool:
        """Whether every attribute is what it was; takes half a microsecond for a module."""
        try:
            return all(starmap(le, self._views))
        except (RuntimeError, ValueError):
            # A tensor or array in the place of a number does not compare to it.
            return False

    def leave_out_changed(self) -> None:
        """Look no more at what is not as it was: a forward pass has just written it."""
        for held, now in self._pairs:
            for name in [name for name in held if now.get(name, _ABSENT) is not held[name]]:
                del held[name]


def _plain(module: nn.Module) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if type(value) in _PLAIN and name != "training" and not name.startswith("_")
    }

"""Determines the dynamic axes of a module's arguments from the calls so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from workbench.modules.dynamic_axes import BATCH

Shapes = tuple[tuple[int, ...], ...]
"""Shape of each tensor among the arguments."""

Axes = tuple[tuple[tuple[int, str], ...], ...]
"""Dynamic axes of each tensor, each with a name; axes with the same name have the same size."""


Ranges = Mapping[str, tuple[int, int]]
"""By the name of a dynamic axis, the smallest and the largest size that a graph is valid for."""

ANY_SIZE: Ranges = MappingProxyType({})


class Fit(NamedTuple):
    """The calls that a graph can run, by the shapes of their tensors."""

    shapes: Shapes
    """Shapes that it was built for."""
    axes: Axes
    """Its dynamic axes."""
    ranges: Ranges = ANY_SIZE
    """Ranges of limited axes."""

    def takes(self, shapes: Shapes) -> bool:
        """Whether it runs a call with tensors of these shapes, whose ranks are as expected.

        An axis of one element does not match a dynamic axis, as modules often treat it differently;
        a batch of one does, see `one_row`.
        """
        if shapes == self.shapes:
            return True
        sizes: dict[str, int] = {}
        for own, dynamic, shape in zip(self.shapes, self.axes, shapes, strict=True):
            named = dict(dynamic)
            for axis, size in enumerate(shape):
                name = named.get(axis)
                if name is None:
                    if size != own[axis]:
                        return False
                elif (
                    (name in self.ranges and not _within(size, self.ranges[name]))
                    or sizes.setdefault(name, size) != size
                    or (size < 2 and name != BATCH)
                ):
                    return False
        return True


def one_row(shapes: Shapes, axes: Axes) -> tuple[int, ...]:
    """Places of the tensors whose batch is an axis of `axes`, if it has one row; else none."""
    places = tuple(
        place for place, dynamic in enumerate(axes) for _, name in dynamic if name == BATCH
    )
    axis = {place: a for place, dynamic in enumerate(axes) for a, name in dynamic if name == BATCH}
    return places if any(shapes[place][axis[place]] == 1 for place in places) else ()


class SeenSizes:
    """Sizes in the calls so far: which axes ever differed, and which were always equal.

    As with torch.compile's automatic dynamic shapes, an axis is static until it is seen to differ.
    The exception is the batch: the first axis of the first tensor that has one, and the first axis
    of each other tensor that was always as long.
    """

    def __init__(self, shapes: Shapes) -> None:
        self._axes = list(_each(shapes))
        self._first = self._sizes(shapes)
        self._kinds: list[tuple[int, ...]] = [(size,) for size in self._first]
        """Equal for axes that had one size in every call."""
        self._differ = [False for _ in self._axes]

    def add(self, shapes: Shapes) -> None:
        """Record the sizes of one more call."""
        sizes = self._sizes(shapes)
        self._differ = [
            differs or size != first
            for differs, size, first in zip(self._differ, sizes, self._first, strict=True)
        ]
        # Numbers, in place of histories that grow.
        pairs = list(zip(self._kinds, sizes, strict=True))
        numbers = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
        self._kinds = [(numbers[pair],) for pair in pairs]

    def candidates(self, shapes: Shapes) -> list[Axes]:
        """Choices of dynamic axes for a graph of a call with these shapes, the widest first.

        The last has no dynamic axis: some modules fix even their batch.
        """
        places = list(zip(self._axes, self._kinds, strict=True))
        batch = next((kind for (_, axis), kind in places if axis == 0), None)
        widest: dict[tuple[int, int], str] = {}
        for ((tensor, axis), kind), differs in zip(places, self._differ, strict=True):
            if axis == 0 and kind == batch:
                widest[tensor, axis] = BATCH
            elif differs and shapes[tensor][axis] > 1:
                widest[tensor, axis] = f"size_{self._kinds.index(kind)}"
        only_batch = {place: name for place, name in widest.items() if name == BATCH}
        return list(dict.fromkeys(_axes(named, len(shapes)) for named in (widest, only_batch, {})))

    def _sizes(self, shapes: Shapes) -> list[int]:
        return [shapes[tensor][axis] for tensor, axis in self._axes]


def _within(size: int, bounds: tuple[int, int]) -> bool:
    least, most = bounds
    return least <= size <= most


def _each(shapes: Shapes) -> Iterator[tuple[int, int]]:
    return ((tensor, axis) for tensor, shape in enumerate(shapes) for axis in range(len(shape)))


def _axes(named: dict[tuple[int, int], str], tensors: int) -> Axes:
    return tuple(
        tuple((axis, name) for (owner, axis), name in named.items() if owner == tensor)
        for tensor in range(tensors)
    )

"""Batch and token axes of a value, and how padding may change its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

BATCH, TOKEN, KEY = "b", "t", "u"
"""Factors of axes: sequences of a batch, tokens of a sequence, and tokens once more."""

Size = int | str | None
"""A size of a shape: a number, a name, or unknown."""
Factor = int | str
Axis = tuple[Factor, ...]
"""Factors of the size of an axis; empty for an axis of one element."""


class Sizes(NamedTuple):
    """Sizes of the axes of a mask."""

    batch: int | str
    token: int | str

    def of(self, factor: Factor) -> int | str:
        """The size of a factor."""
        if factor == BATCH:
            return self.batch
        return self.token if factor in (TOKEN, KEY) else factor


class MaskedBy(NamedTuple):
    """A value that masks scores of attention."""

    value: str
    counts: str
    """Scores count where it is "true", "false", or "above" the masking constant, which is added."""
    is_firm: bool
    """Whether a masked score is the same number for any score, due to rounding."""


class Tracked(NamedTuple):
    """Known properties of a value."""

    axes: tuple[Axis, ...]
    arbitrary: frozenset[str] = frozenset()
    """Token factors: numbers at padded tokens along these may be any finite ones."""
    constants: Mapping[str, float] = {}
    """Token factor -> the number at all padded tokens along it."""
    seeds: frozenset[str] = frozenset()
    """The values from which padding was first removed and that led to this one."""
    masked_by: MaskedBy | None = None
    """The mask of these scores, if a row whose keys are all masked may be arbitrary."""

    def renamed(self, names: Mapping[str, str]) -> Tracked:
        """With other names for token factors."""
        return self._replace(
            axes=tuple(tuple(names.get(str(f), f) for f in axis) for axis in self.axes),
            arbitrary=frozenset(names.get(factor, factor) for factor in self.arbitrary),
            constants={names.get(factor, factor): c for factor, c in self.constants.items()},
        )

    def padded_to(self, rank: int) -> Tracked:
        """With axes of one element before, as for broadcasting."""
        return self._replace(axes=((),) * (rank - len(self.axes)) + self.axes)

    @property
    def lead(self) -> tuple[str, int] | None:
        """The order of batch and tokens in the first axes, and the number of these axes.

        None where they are not the first, or other factors are among them.
        """
        factors: list[Factor] = []
        for count, axis in enumerate(self.axes, 1):
            if not axis:
                return None
            factors += axis
            if len(factors) >= 2:
                order = "".join(map(str, factors))
                rest = self.axes[count:]
                fits = order in ("bt", "tb") and not any(special(axis) for axis in rest)
                return (order, count) if fits else None
        return None


def special(axis: Axis) -> tuple[str, ...]:
    """The factors of batch and tokens in an axis."""
    return tuple(str(factor) for factor in axis if factor in (BATCH, TOKEN, KEY))


def own(size: Size) -> Axis:
    """An axis that is neither batch nor tokens."""
    if size == 1:
        return ()
    return (size if isinstance(size, int) else "?",)


def own_left_out(value: Tracked) -> list[Axis]:
    """The axes of a value, with one element for those that are neither batch nor tokens."""
    return [axis if special(axis) else () for axis in value.axes]


def regrouped(axes: Iterable[Axis], shape: Sequence[Size], sizes: Sizes) -> tuple[Axis, ...] | None:
    """The axes of a value after a Reshape to `shape`; None where that is not certain.

    One size of the shape may be unknown: it follows from the others.
    """
    pending = [factor for axis in axes for factor in axis]
    unknown = [place for place, size in enumerate(shape) if not _is_known(size, sizes)]
    if "?" in pending or len(unknown) > 1:
        return None
    if not unknown:
        made = _taken(pending, shape, sizes)
        return tuple(made) if made is not None and not pending else None
    before = _taken(pending, shape[: unknown[0]], sizes)
    pending.reverse()
    after = _taken(pending, shape[: unknown[0] : -1], sizes)
    if before is None or after is None:
        return None
    return (*before, tuple(pending[::-1]), *(axis[::-1] for axis in reversed(after)))


def _is_known(size: Size, sizes: Sizes) -> bool:
    if not isinstance(size, str):
        return size is not None
    return {part for part in size.split("*") if not part.isdigit()} <= set(map(str, sizes))


def _taken(pending: list[Factor], shape: Sequence[Size], sizes: Sizes) -> list[Axis] | None:
    """Remove the factors of each axis of `shape` from the front of `pending`."""
    made: list[Axis] = []
    for size in shape:
        taken = _of_size(pending, size, sizes)
        if taken is None:
            return None
        made.append(tuple(taken))
    return made


def _of_size(pending: list[Factor], size: Size, sizes: Sizes) -> list[Factor] | None:
    """Remove factors whose product is `size` from the front of `pending`; a number may be
    divided."""
    parts = str(size).split("*")
    numbers = math.prod(int(part) for part in parts if part.isdigit())
    names = [part for part in parts if not part.isdigit()]
    taken: list[Factor] = []
    while names or numbers > 1:
        if not pending:
            return None
        stands_for = sizes.of(pending[0])
        if isinstance(stands_for, str):
            if stands_for not in names:
                return None
            names.remove(stands_for)
            taken.append(pending.pop(0))
        elif numbers % stands_for == 0:
            taken.append(pending.pop(0))
            numbers //= stands_for
        elif isinstance(pending[0], int) and stands_for % numbers == 0 and not names:
            pending[0] = stands_for // numbers
            taken.append(numbers)
            numbers = 1
        else:
            return None
    return taken

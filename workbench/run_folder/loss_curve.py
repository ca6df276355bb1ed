"""The loss of a run over its steps, in a bounded number of means."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

MOST_POINTS = 60


class LossCurve:
    """Means over adjacent steps; their width is doubled when there are too many."""

    def __init__(self) -> None:
        self._width = 1
        """Steps of a mean."""
        self._sums: list[float] = []
        self._counts: list[int] = []
        """Finite losses of each mean."""
        self._read: list[bool] = []
        """Whether any loss was added: of a long log only samples are read."""

    def add(self, first_step: int, losses: Sequence[float], all_finite: bool = False) -> None:
        """Add the losses of consecutive steps; those that are not finite are left out.

        Args:
            first_step: from 1.
            losses: of this step and those after it.
            all_finite: whether all are known to be finite.
        """
        if not losses:
            return
        while (first_step + len(losses) - 2) // self._width >= MOST_POINTS:
            self._double()
        index = (first_step - 1) // self._width
        end = (index + 1) * self._width - first_step + 1
        start = 0
        while start < len(losses):
            part = losses[start:end]
            finite = part if all_finite else [loss for loss in part if math.isfinite(loss)]
            self._add_to(index, finite)
            index, start, end = index + 1, end, end + self._width

    def forget_after(self, step: int) -> None:
        """Forget the later steps, which are trained again."""
        count = -(-step // self._width)
        del self._sums[count:], self._counts[count:], self._read[count:]

    def points(self) -> tuple[float, ...]:
        """The means, evenly spaced; NaN where none of the losses was finite.

        Means without losses are interpolated linearly between their neighbours; before the first,
        NaN.
        """
        means = [
            total / count if count else math.nan
            for total, count in zip(self._sums, self._counts, strict=True)
        ]
        known = [index for index, read in enumerate(self._read) if read]
        for before, after in itertools.pairwise(known):
            slope = (means[after] - means[before]) / (after - before)
            for index in range(before + 1, after):
                means[index] = means[before] + (index - before) * slope
        return tuple(means)

    def _add_to(self, index: int, losses: Sequence[float]) -> None:
        missing = index + 1 - len(self._sums)
        self._sums += [0.0] * missing
        self._counts += [0] * missing
        self._read += [False] * missing
        self._read[index] = True
        self._sums[index] += sum(losses)
        self._counts[index] += len(losses)

    def _double(self) -> None:
        self._width *= 2
        self._sums = [sum(self._sums[at : at + 2]) for at in range(0, len(self._sums), 2)]
        self._counts = [sum(self._counts[at : at + 2]) for at in range(0, len(self._counts), 2)]
        self._read = [any(self._read[at : at + 2]) for at in range(0, len(self._read), 2)]

"""A run's steps at several resolutions, so that any range is read in bounded time."""

from __future__ import annotations

import numpy as np

from workbench.chart_series.blocks import COUNT, STEP, Blocks, blocks_of, merged

FACTOR = 16
"""Blocks of one level that are merged to one of the next."""
LIMIT = 1 << 20
"""Number of blocks that a level keeps, the newest: older ones are only kept at the next level."""
RAW_ROWS = 5
"""step, total seconds, total samples, loss, resident set."""


class GrowingColumns:
    """Columns that grow at the end and are trimmed at the front, in one array."""

    def __init__(self, rows: int, dtype: type, limit: int) -> None:
        self._array: np.ndarray = np.empty((rows, 256), dtype)
        self._limit = limit
        self._length = 0
        self.dropped = 0
        """Entries that were removed at the front."""

    @property
    def held(self) -> np.ndarray:
        """(rows, entries): the kept entries, as a view."""
        return self._array[:, : self._length]

    @property
    def total(self) -> int:
        """Number of entries added so far, removed ones included."""
        return self.dropped + self._length

    def reserve(self, entries: int) -> None:
        """Allocate memory for that many further entries, as far as they are kept."""
        self._grow(min(self._length + entries, self._limit + self._limit // 4))

    def append(self, entries: np.ndarray) -> None:
        length = self._length + entries.shape[1]
        self._grow(length)
        self._array[:, self._length : length] = entries
        self._length = length
        # A quarter more than the limit, so that entries are moved seldom.
        if length > self._limit + self._limit // 4:
            self.dropped += length - self._limit
            self._array = self.held[:, -self._limit :].copy()
            self._length = self._limit

    def _grow(self, length: int) -> None:
        if length > self._array.shape[1]:
            grown = np.empty((len(self._array), max(length, 2 * self._length)), self._array.dtype)
            grown[:, : self._length] = self.held
            self._array = grown

    def cut(self, total: int) -> None:
        """Remove the last entries, so that `total` is this."""
        self._length = max(0, min(self._length, total - self.dropped))


class Pyramid:
    """Blocks of 1, 16, 256, ... steps of one run; grows at its end.

    The last block of each level that is kept is whole; later ones are merged on request. About 45
    bytes a step for the newest `limit` steps, and little for the others.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        """Create an empty pyramid that keeps `limit` blocks of each level, at least `FACTOR`^2."""
        self._limit = max(limit, FACTOR * FACTOR)
        self._raw = GrowingColumns(RAW_ROWS, np.float64, self._limit)
        self._levels: list[GrowingColumns] = []

    def __len__(self) -> int:
        """Number of steps."""
        return self._raw.total

    @property
    def oldest_step_index(self) -> int:
        """Index of the first step that is kept individually."""
        return self._raw.dropped

    def append(self, raw: np.ndarray) -> None:
        """Add steps: (5, steps) float64, see `blocks_of`."""
        self._raw.reserve(raw.shape[1])
        # In pieces, so that no level removes blocks that the next has not merged yet.
        for start in range(0, raw.shape[1], self._limit // 4):
            self._raw.append(raw[:, start : start + self._limit // 4])
            self._build()

    def cut(self, steps: int) -> None:
        """Remove all but the first `steps` steps."""
        self._raw.cut(steps)
        for level, rows in enumerate(self._levels):
            rows.cut(steps // FACTOR ** (level + 1))

    def index_of(self, step: float) -> int:
        """Number of steps known to be smaller than `step`; coarse where only blocks are left."""
        for level, rows in enumerate([self._raw, *self._levels]):
            steps = rows.held[STEP]
            if len(steps) and (rows.dropped == 0 or steps[0] <= step):
                before = int(np.searchsorted(steps, step, "left"))
                return (rows.dropped + before) * int(FACTOR**level)
        return 0

    def blocks(self, stride: int, start: int = 0, stop: int | None = None) -> Blocks:
        """Blocks `start` up to `stop` of `stride` steps each, the last possibly of fewer.

        `stride` is a power of two. Blocks whose steps were removed are left out, so fewer may be
        returned: use a larger `stride` there.
        """
        total = -(-len(self) // stride)
        stop = total if stop is None else min(stop, total)
        if stop <= start:
            return np.empty((COUNT + 1, 0))
        return merged_from(
            start * stride, self._steps(stride, start * stride, stop * stride), stride
        )

    def _steps(self, stride: int, start: int, stop: int) -> tuple[Blocks, int, int]:
        """Blocks of steps `start` to `stop`: the coarsest that divide `stride`, then the steps
        after the last whole one; the index of the first step and the size."""
        level = 0
        while stride % FACTOR ** (level + 1) == 0 and level < len(self._levels):
            level += 1
        size = FACTOR**level
        found = self._held(level, start // size, stop // size)
        first = max(start // size, self._dropped(level)) * size
        rest = max(first, (self._total(level)) * size)
        if rest < min(stop, len(self)):
            tail, _, fine = self._steps(max(1, size // FACTOR), rest, stop)
            found = np.concatenate([found, merged(tail, max(1, size // fine))], axis=1)
        return found, first, size

    def _held(self, level: int, start: int, stop: int) -> Blocks:
        rows = self._raw if level == 0 else self._levels[level - 1]
        part = rows.held[:, max(0, start - rows.dropped) : max(0, stop - rows.dropped)]
        return blocks_of(*part) if level == 0 else part

    def _dropped(self, level: int) -> int:
        return (self._raw if level == 0 else self._levels[level - 1]).dropped

    def _total(self, level: int) -> int:
        return (self._raw if level == 0 else self._levels[level - 1]).total

    def _build(self) -> None:
        """Merge whole blocks of each level into the next."""
        level = 0
        while True:
            whole = self._total(level) // FACTOR
            if level == len(self._levels):
                if whole == 0:
                    return
                self._levels.append(GrowingColumns(COUNT + 1, np.float64, self._limit))
            rows = self._levels[level]
            if whole > rows.total:
                below = self._held(level, rows.total * FACTOR, whole * FACTOR)
                rows.append(merged(below, FACTOR))
            level += 1


def merged_from(start: int, found: tuple[Blocks, int, int], stride: int) -> Blocks:
    """The blocks of `stride` steps that begin at or after step index `start`."""
    blocks, first, size = found
    # If the front was removed, blocks begin at the next whole one.
    skipped = (-(first - start) % stride) // size
    return merged(blocks[:, skipped:], stride // size)

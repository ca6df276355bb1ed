"""The recorded series of one run, for charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.chart_series.blocks import LAST, MEMORY, SAMPLES, SECONDS, STEP, Blocks
from workbench.chart_series.evaluations import METRICS, Evaluations, Metric
from workbench.chart_series.incidents import Incident, IncidentWatch
from workbench.chart_series.pyramid import LIMIT, RAW_ROWS, Pyramid
from workbench.chart_series.rank_memory import RankMemory
from workbench.chart_series.smoothing import NO_WARM_UP, WarmUp, rate_window

__all__ = ["METRICS", "Metric", "Recording", "StepValue"]


class StepValue(NamedTuple):
    """A value and the step that it belongs to; NaN and 0 if there is none."""

    value: float
    step: int


NOTHING = StepValue(float("nan"), 0)


class Recording:
    """The steps and the evaluations of one run, in bounded memory."""

    def __init__(self, limit: int = LIMIT) -> None:
        """Create an empty recording that keeps `limit` blocks of each resolution."""
        self._pyramid = Pyramid(limit)
        self._watch = IncidentWatch()
        self._best = NOTHING
        self._last: np.ndarray | None = None
        self.warm_up = NO_WARM_UP
        self.evaluations = Evaluations()
        self.rank_memory = RankMemory()

    def __len__(self) -> int:
        """Number of steps."""
        return len(self._pyramid)

    def add(
        self,
        step: np.ndarray,
        seconds: np.ndarray,
        samples: np.ndarray,
        loss: np.ndarray,
        rss_bytes: np.ndarray,
        rank_rss_bytes: tuple[np.ndarray, ...] = (),
        warmup_steps: int = 0,
    ) -> None:
        """Add steps that follow those before, all of shape (steps,).

        Args:
            step: number of each step.
            seconds: duration of each step.
            samples: samples of each step.
            loss: NaN or infinite where it was not finite.
            rss_bytes: resident set; NaN where it was not measured. Such steps get the next known
                value, and those after the last one the last.
            rank_rss_bytes: of each process where several train; NaN where it was not measured.
            warmup_steps: first steps of the run, which the throughput of later ones leaves out.
        """
        if len(step) == 0:
            return
        before = self._last
        # A single array: of a million steps each further one costs page faults.
        raw = np.empty((RAW_ROWS, len(step)))
        raw[STEP], raw[3] = step, loss
        for row, values in ((SECONDS, seconds), (SAMPLES, samples)):
            np.cumsum(values, out=raw[row])
            if before is not None:
                raw[row] += before[row]
        raw[4] = _filled(rss_bytes, np.nan if before is None else 1e6 * before[4])
        raw[4] /= 1e6
        self._pyramid.append(raw)
        self._last = raw[:, -1].copy()
        if self.warm_up.steps < warmup_steps <= raw[STEP, -1]:
            at = int(np.searchsorted(raw[STEP], warmup_steps, "right")) - 1
            if at >= 0:  # else the record begins after them
                self.warm_up = WarmUp(warmup_steps, *raw[[SECONDS, SAMPLES], at].tolist())
        self.rank_memory.add(step, rank_rss_bytes)
        self._note(step, loss, samples)

    def cut(self, step: int) -> bool:
        """Remove steps after `step`; returns whether there were any."""
        steps = self._pyramid.index_of(step + 1)
        self.evaluations.cut(step)
        self.rank_memory.cut(step)
        if steps >= len(self):
            return False
        self._pyramid.cut(steps)
        if step < self.warm_up.steps:
            self.warm_up = NO_WARM_UP
        kept = self._pyramid.blocks(1)
        self._last = kept[[STEP, SECONDS, SAMPLES, LAST, MEMORY], -1] if kept.shape[1] else None
        if kept.shape[1] == len(self):
            self._watch, self._best = IncidentWatch(), NOTHING
            self._note(kept[STEP], kept[LAST], np.diff(kept[SAMPLES], prepend=0))
            return True
        # Of a long recording the first steps are kept as means only, if these are not all.
        self._watch.cut(step)
        if self._best.step > step:
            self._best = NOTHING
            self._note_best(kept[STEP], kept[LAST])
        return True

    def _note(self, step: np.ndarray, loss: np.ndarray, samples: np.ndarray) -> None:
        self._watch.add(step, loss, samples)
        self._note_best(step, loss)

    def _note_best(self, step: np.ndarray, loss: np.ndarray) -> None:
        finite = np.where(np.isfinite(loss), loss, np.inf)
        if len(finite) and np.isfinite(low := finite.min()) and not low >= self._best.value:
            self._best = StepValue(float(low), int(step[finite.argmin()]))

    @property
    def last_step(self) -> int:
        """Number of the last step; 0 before the first."""
        return 0 if self._last is None else int(self._last[STEP])

    @property
    def last_loss(self) -> StepValue:
        return NOTHING if self._last is None else StepValue(float(self._last[3]), self.last_step)

    @property
    def best_loss(self) -> StepValue:
        """The smallest loss of a batch."""
        return self._best

    @property
    def best_evaluation(self) -> StepValue:
        """The smallest loss on the test split."""
        step, loss = self.evaluations.array[:2]
        if not np.isfinite(loss).any():
            return NOTHING
        at = int(np.nanargmin(loss))
        return StepValue(float(loss[at]), int(step[at]))

    @property
    def incidents(self) -> list[Incident]:
        """Losses that are not finite, and divergence."""
        return self._watch.incidents

    @property
    def rate_window(self) -> int:
        """Steps over which the throughput of this run is averaged."""
        return rate_window(len(self))

    def blocks(self, stride: int, start: int = 0, stop: int | None = None) -> Blocks:
        """See `Pyramid.blocks`."""
        return self._pyramid.blocks(stride, start, stop)

    def stride_for(self, steps: int, blocks: int) -> int:
        """The power of two for which `steps` steps are at most `blocks` blocks."""
        stride = 1
        while steps > stride * blocks:
            stride *= 2
        return stride

    def window(self, low: float, high: float, most: int) -> tuple[int, int, Blocks]:
        """Blocks of the steps from `low` to `high` and one more at each side.

        Args:
            low: a step.
            high: a step.
            most: blocks at most, but for the two at the sides.

        Returns:
            Steps of a block, index of the first, and the blocks.
        """
        first, last = self._pyramid.index_of(low), self._pyramid.index_of(high)
        stride = self.stride_for(max(1, last - first), max(1, most))
        while first < self._pyramid.oldest_step_index and stride < 16:
            stride *= 2  # single steps of so long ago were removed
        start = max(0, first // stride - 1)
        found = self.blocks(stride, start, -(-last // stride) + 1)
        total = -(-len(self) // stride)
        # Fewer than requested are returned if the front was removed.
        start = max(start, min(total, -(-last // stride) + 1) - found.shape[1])
        return stride, start, found

    def totals_before(self, stride: int, start: int) -> tuple[float, float]:
        """Seconds and samples before block `start` of `stride` steps."""
        if start == 0:
            return 0.0, 0.0
        before = self.blocks(stride, start - 1, start)
        return (0.0, 0.0) if before.shape[1] == 0 else (before[SECONDS, 0], before[SAMPLES, 0])

    def at(self, step: int) -> dict[str, float]:
        """step, seconds, samples, loss, samples_per_s and memory_mb at the last step that is at
        most `step`; NaN, and step 0, before the first."""
        index = self._pyramid.index_of(step + 1) - 1
        window = self.rate_window
        found = self.blocks(1, max(0, index - window), index + 1)
        names = ("seconds", "samples", "loss", "samples_per_s", "memory_mb")
        if index < 0 or found.shape[1] == 0:
            return {"step": 0, **dict.fromkeys(names, float("nan"))}
        last = found[:, -1]
        # Of a long run the oldest single steps were removed: the first that is found is the start.
        start_s, start_samples = (0.0, 0.0) if index < window else found[[SECONDS, SAMPLES], 0]
        if last[STEP] > self.warm_up.steps and start_s < self.warm_up.seconds:
            _, start_s, start_samples = self.warm_up
        elapsed = last[SECONDS] - start_s
        rate = (last[SAMPLES] - start_samples) / elapsed if elapsed > 0 else float("nan")
        values = (last[SECONDS], last[SAMPLES], last[LAST], rate, last[MEMORY])
        return {"step": int(last[STEP]), **dict(zip(names, map(float, values), strict=True))}

    def add_events(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Add the evaluations among `events`."""
        self.evaluations.add(events)


def _filled(values: np.ndarray, before: float) -> np.ndarray:
    """Each NaN replaced by the next known value, after the last one by that or `before`."""
    known = np.flatnonzero(np.isfinite(values))
    if len(known) == 0:
        return np.full(len(values), before)
    following = np.searchsorted(known, np.arange(len(values)))
    return np.asarray(values[known[np.minimum(following, len(known) - 1)]])

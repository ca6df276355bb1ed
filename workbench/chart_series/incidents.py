"""Incidents of a loss: values that are not finite, divergence, and leaps without recovery."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

START_STEPS = 10
"""Steps whose mean loss is the initial loss."""
WINDOW_STEPS = 20
HIGH_STEPS = 15
"""Steps of a window that must be high: some bad batches are not a divergence."""
DIVERGED = 2.0
"""Multiple of the initial loss above which a loss has diverged."""
FROM_FIRST = 5.0
"""The same of the first loss alone, where its batch is large: the next ones may have risen.

Single losses of a trained model vary as much. Of a divergence each one of a window is higher, and a
leap is as far above all that come after it.
"""
RECOVERED = 0.9
"""Multiple of the first loss below which a loss has recovered from a leap."""
RECOVERED_SHARE = 0.1
"""Part of the steps after a leap that may be below that by chance."""
LARGE_BATCH = 16
"""Samples from which the loss of one batch is near that of others."""
TRAINED = 0.1
"""A first loss below this is that of a trained model: later ones are many times as high, or low."""
ADVICE = "a lower learning rate helps in most cases"


class Incident(NamedTuple):
    """An event of the loss that a chart marks."""

    kind: Literal["not_finite", "diverged", "leap"]
    step: int
    """Its first step."""
    text: str
    """Its description, a sentence."""


class IncidentWatch:
    """Detects incidents as losses are added; O(new steps)."""

    def __init__(self) -> None:
        self._bad: tuple[int, int] | None = None
        self._diverged: int | None = None
        self._leap: int | None = None
        self._highest = 0.0
        self._after_leap = self._below_first = 0
        self._first_samples = 0.0
        self._beginning: list[float] = []
        self._recent = np.empty(0)
        self._recent_steps = np.empty(0)

    def add(self, step: np.ndarray, loss: np.ndarray, samples: np.ndarray) -> None:
        """Add the losses of further steps and their batch sizes, all of shape (steps,)."""
        bad = np.flatnonzero(~np.isfinite(loss))
        if len(bad):
            first, count = self._bad or (int(step[bad[0]]), 0)
            self._bad = first, count + len(bad)
        known = np.isfinite(loss)
        step, loss = step[known], loss[known]
        if not self._beginning and len(loss):
            self._first_samples = float(samples[known][0])
        missing = START_STEPS - len(self._beginning)
        self._beginning += loss[: max(0, missing)].tolist()
        if self._diverged is None and len(self._beginning) == START_STEPS:
            self._detect_divergence(step, loss)
        if self._leap is None and self._first_tells:
            high = step[loss > FROM_FIRST * self._beginning[0]]
            self._leap = int(high[0]) if len(high) else None
        if self._leap is not None:
            after = loss[step > self._leap]
            self._after_leap += len(after)
            self._below_first += int(np.sum(after < RECOVERED * self._beginning[0]))
        self._highest = max(self._highest, float(np.max(loss, initial=0.0)))
        self._recent = np.concatenate([self._recent, loss])[-(WINDOW_STEPS - 1) :]
        self._recent_steps = np.concatenate([self._recent_steps, step])[-(WINDOW_STEPS - 1) :]

    def cut(self, last_step: int) -> None:
        """Forget the steps after `last_step`, which are trained again; the first ones stay."""
        self._beginning = self._beginning[:last_step]
        kept = self._recent_steps <= last_step
        self._recent, self._recent_steps = self._recent[kept], self._recent_steps[kept]
        if self._bad is not None and self._bad[0] > last_step:
            self._bad = None
        if self._diverged is not None and self._diverged > last_step:
            self._diverged = None
        if self._leap is not None and self._leap > last_step:
            self._leap, self._after_leap, self._below_first = None, 0, 0

    @property
    def _first_tells(self) -> bool:
        """Whether the first loss alone says where the others begin."""
        known = bool(self._beginning) and self._first_samples >= LARGE_BATCH
        return known and self._beginning[0] >= TRAINED

    def _detect_divergence(self, step: np.ndarray, loss: np.ndarray) -> None:
        every = np.concatenate([self._recent, loss])
        limits = [(DIVERGED * float(np.mean(self._beginning)), HIGH_STEPS)]
        if self._first_tells:
            limits.append((FROM_FIRST * self._beginning[0], WINDOW_STEPS))
        found = [_first_high(every, limit, steps) for limit, steps in limits if limit > 0]
        known = [index for index in found if index is not None]
        if known:
            self._diverged = int(np.concatenate([self._recent_steps, step])[min(known)])

    @property
    def incidents(self) -> list[Incident]:
        """Incidents so far, the first of each kind."""
        found = []
        if self._bad is not None:
            step, count = self._bad
            more = "" if count == 1 else f", and {count - 1:,} more"
            found.append(Incident("not_finite", step, f"loss not finite at step {step:,}{more}"))
        if self._diverged is not None:
            step = self._diverged
            text = f"loss diverges from step {step:,}: more than twice its first values; {ADVICE}"
            found.append(Incident("diverged", step, text))
        elif self._leap is not None and self._has_not_recovered:
            step = self._leap
            text = f"loss leaps at step {step:,} and does not recover; {ADVICE}"
            found.append(Incident("leap", step, text))
        return found

    @property
    def _has_not_recovered(self) -> bool:
        """Whether the last steps are all after the leap, far below it, and not below the first."""
        assert self._leap is not None
        if len(self._recent) < WINDOW_STEPS - 1 or self._recent_steps[0] <= self._leap:
            return False
        left = self._highest > FROM_FIRST * np.max(self._recent)
        if not left or self._below_first > RECOVERED_SHARE * self._after_leap:
            return False
        return bool(np.mean(self._recent) >= RECOVERED * self._beginning[0])


def _first_high(losses: np.ndarray, limit: float, steps: int) -> int | None:
    """Index of the first loss above `limit` in the first window in which `steps` of them are."""
    high = losses > limit
    counts = np.concatenate([[0], np.cumsum(high)])
    windows = np.flatnonzero(counts[WINDOW_STEPS:] - counts[:-WINDOW_STEPS] >= steps)
    return int(windows[0] + np.flatnonzero(high[windows[0] :])[0]) if len(windows) else None

"""Gradient norms and update-to-weight ratios of layers over the steps of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

LIMIT = 128
"""Steps that are kept, at most; longer series are repeatedly thinned by half."""

MEASURES = ("gradient_norms", "update_ratios")
"""Their names in events."""


class LayerSeries:
    """The recorded steps of one run, in bounded memory."""

    def __init__(self, limit: int = LIMIT) -> None:
        """Create an empty series of at most `limit` steps."""
        self._limit = limit
        self.names: list[str] = []
        """Names of the layers, in order."""
        self._forget()

    def _forget(self) -> None:
        self._every = 1
        self._seen = 0
        self._rows: list[tuple[int, np.ndarray]] = []

    def __len__(self) -> int:
        """Number of steps that are kept."""
        return len(self._rows)

    def add(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Add events of the kinds `layers` and `layer_statistics`; returns whether there were any.

        The last step is always kept.
        """
        changed = False
        for event in events:
            if event.get("event") == "layers" and event["names"] != self.names:
                # Other parameters are trained since then: the earlier series has different rows.
                self._forget()
                self.names = list(event["names"])
            elif event.get("event") == "layer_statistics":
                changed = self._append(event) or changed
        return changed

    def _append(self, event: Mapping[str, Any]) -> bool:
        values = [event[measure] for measure in MEASURES]
        if any(len(each) != len(self.names) for each in values):
            return False
        if self._rows and (self._seen - 1) % self._every:
            self._rows.pop()  # it was kept only because it was the last
        self._rows.append((int(event["step"]), np.array(values, np.float64)))
        self._seen += 1
        if len(self._rows) > self._limit:
            *before, last = self._rows
            self._rows = [*before[::2], last]
            self._every *= 2
        return True

    def cut(self, step: int) -> None:
        """Remove steps after `step`."""
        kept = [row for row in self._rows if row[0] <= step]
        if len(kept) < len(self._rows):
            self._rows = kept
            self._seen = (len(kept) - 1) * self._every + 1 if kept else 0

    @property
    def steps(self) -> np.ndarray:
        """(steps,) int64."""
        return np.array([step for step, _ in self._rows], np.int64)

    def values(self, measure: str) -> np.ndarray:
        """(layers, steps) float64 of one of `MEASURES`; NaN where it is not finite."""
        at = MEASURES.index(measure)
        if not self._rows:
            return np.empty((len(self.names), 0))
        return np.stack([values[at] for _, values in self._rows], axis=1)

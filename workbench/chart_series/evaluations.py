"""The evaluations of a run on its test split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

MOST_SENT = 1000


class Metric(NamedTuple):
    """A metric of an evaluation."""

    key: str
    """Its name in events."""
    title: str
    unit: str
    scale: float
    """The shown value is the recorded one times this."""


METRICS = (
    Metric("accuracy", "Accuracy", "% of the test split", 100.0),
    Metric("r2", "R²", "on the test split", 1.0),
    Metric("perplexity", "Perplexity", "on the test split", 1.0),
    Metric("mean_absolute_error", "Mean absolute error", "on the test split", 1.0),
)
"""In the order of preference: a chart shows the first that the run has."""


class Evaluations:
    """Evaluations in the order of their steps."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, ...]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Add events of the kind `evaluation`; others are ignored."""
        for event in events:
            if event.get("event") != "evaluation":
                continue
            values = (event.get("loss"), *(event.get(metric.key) for metric in METRICS))
            numbers = (float("nan") if value is None else float(value) for value in values)
            self._rows.append((float(event["step"]), *numbers))

    def cut(self, step: int) -> None:
        """Remove evaluations after `step`."""
        self._rows = [row for row in self._rows if row[0] <= step]

    @property
    def array(self) -> np.ndarray:
        """(6, evaluations) float64: step, loss, and `METRICS` as recorded; NaN where not known."""
        return np.array(self._rows, np.float64).reshape(-1, 2 + len(METRICS)).T

    @property
    def thinned(self) -> np.ndarray:
        """At most about `MOST_SENT` of `array`, evenly, the last one included."""
        every = self.array
        stride = -(-every.shape[1] // MOST_SENT)
        return every if stride <= 1 else every[:, ::-1][:, ::stride][:, ::-1]

    @property
    def metric(self) -> Metric | None:
        """The metric that a chart shows; None if no evaluation has one."""
        every = self.array
        for row, metric in enumerate(METRICS):
            if np.isfinite(every[2 + row]).any():
                return metric
        return None

    def of(self, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
        """Steps, and the values of a metric in its unit; NaN where not known."""
        every = self.array
        return every[0], every[2 + METRICS.index(metric)] * metric.scale

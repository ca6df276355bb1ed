"""Throughput of recorded steps."""

from __future__ import annotations

from workbench.runs.reader import NewPoints


def mean_samples_per_s(points: NewPoints, warmup_steps: int) -> float:
    """Samples per second over the measured steps: all but the first `warmup_steps`.

    Of a run in a comparison this is another figure than the `samples_per_s` of its table, which is
    a median over rounds and hence has another name.

    NaN when no step is left to measure.
    """
    measured = points.step > warmup_steps
    seconds = float(points.seconds[measured].sum())
    return float(points.samples[measured].sum()) / seconds if seconds else float("nan")

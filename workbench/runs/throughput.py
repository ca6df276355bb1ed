"""Throughput of recorded steps."""

from __future__ import annotations

from workbench.runs.reader import NewPoints


def samples_per_s(points: NewPoints, warmup_steps: int) -> float:
    """Samples per second over the measured steps: all but the first `warmup_steps`.

    NaN when no step is left to measure.
    """
    measured = points.step > warmup_steps
    seconds = float(points.seconds[measured].sum())
    return float(points.samples[measured].sum()) / seconds if seconds else float("nan")

"""Throughput of recorded steps."""

from __future__ import annotations

from workbench.runs.record.reader import NewPoints


def mean_samples_per_s(points: NewPoints, warmup_steps: int) -> float:
    """Samples per second over all steps after the first `warmup_steps`; NaN if there are none.

    It differs from the `samples_per_s` of a comparison's table, which is a median over rounds.
    """
    measured = points.step > warmup_steps
    seconds = float(points.seconds[measured].sum())
    return float(points.samples[measured].sum()) / seconds if seconds else float("nan")

"""Messages of charts about a recording: blocks of steps as float32, relative to a base."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.chart_series import COLUMNS, METRICS, Recording, StepValue
from workbench.chart_series.blocks import SAMPLES, SECONDS, STEP, Blocks

OVERVIEW_BLOCKS = 2048
"""Largest number of blocks of a whole run: more than the pixels of a chart."""
DETAIL_BLOCKS = 2048
"""Largest number of blocks of a window."""


def block_part(
    blocks: Blocks, stride: int, start: int, totals: tuple[float, float]
) -> tuple[dict[str, Any], bytes]:
    """Header and buffer of blocks; the buffer is (9, blocks) float32, see `COLUMNS`.

    Step, seconds and samples are relative to `base`, since float32 holds no large step exactly.

    Args:
        blocks: those to send.
        stride: steps of a block.
        start: index of the first block.
        totals: seconds and samples before it.
    """
    base_step = float(blocks[STEP, 0]) - 1 if blocks.shape[1] else 0.0
    relative = blocks[: len(COLUMNS)].copy()
    relative[STEP] -= base_step
    relative[SECONDS] -= totals[0]
    relative[SAMPLES] -= totals[1]
    header = {
        "stride": stride,
        "start": start,
        "count": blocks.shape[1],
        "base": [base_step, *totals],
    }
    with np.errstate(over="ignore"):  # a loss beyond float32 is drawn as infinite
        return header, relative.astype(np.float32).tobytes()


def evaluation_buffer(recording: Recording) -> bytes:
    """(3, evaluations) float32: step, loss and the metric that is shown, in its unit."""
    every = recording.evaluations.thinned
    metric = recording.evaluations.metric
    shown = np.full(every.shape[1], np.nan)
    if metric is not None:
        shown = every[2 + METRICS.index(metric)] * metric.scale
    with np.errstate(over="ignore"):
        return np.stack([every[0], every[1], shown]).astype(np.float32).tobytes()


def rank_memory_buffer(recording: Recording) -> bytes:
    """(1 + processes, samples) float32: the step and MB of each; empty for a single process."""
    return recording.rank_memory.array.astype(np.float32).tobytes()


def facts(recording: Recording) -> dict[str, Any]:
    """Properties of a recording that a chart shows beside its points."""
    metric = recording.evaluations.metric
    return {
        "steps": len(recording),
        "rate_window": recording.rate_window,
        "warm_up": recording.warm_up._asdict(),
        "best": _value(recording.best_loss),
        "best_evaluation": _value(recording.best_evaluation),
        "incidents": [incident._asdict() for incident in recording.incidents],
        "ranks": max(0, len(recording.rank_memory.array) - 1),
        "metric": None if metric is None else {"title": metric.title, "unit": metric.unit},
    }


def _value(value: StepValue) -> dict[str, Any] | None:
    return {"value": value.value, "step": value.step} if math.isfinite(value.value) else None

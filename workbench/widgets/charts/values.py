"""Last, best and pointed-at values of curves, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.chart_series import Recording, loss_span, spread, trailing_rate
from workbench.chart_series.blocks import MEAN, MEMORY, SAMPLES, SECONDS, STEP

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {
    "last_loss": "loss of the last step",
    "last_step": "the last step",
    "best_loss": "smallest loss of a batch",
    "best_step": "its step",
    "best_test_loss": "smallest loss on the test split; NaN without evaluations",
    "best_test_step": "its step",
    "at_step": "the step pointed at, or the last before it; 0 before the first",
    "at_loss": "loss there",
    "at_samples_per_s": "throughput there: mean of the last steps",
    "at_memory_mb": "resident set there, 10^6 bytes",
    "at_seconds": "seconds of training up to there",
}
"""The columns of the table of values and their meaning."""

TYPICAL_BLOCKS = 512


def values_frame(curves: Mapping[str, tuple[str, Recording]], at: int | None) -> pd.DataFrame:
    """One row a curve; see `COLUMNS`.

    Args:
        curves: label and recording of each, by its key.
        at: a step; None: the last of each.
    """
    import pandas as pd

    rows = [_row(recording, at) for _, recording in curves.values()]
    index = pd.Index([label for label, _ in curves.values()], name="run")
    return pd.DataFrame(rows, index=index, columns=[*COLUMNS])


def _row(recording: Recording, at: int | None) -> dict[str, Any]:
    there = recording.at(recording.last_step if at is None else at)
    return {
        "last_loss": recording.last_loss.value,
        "last_step": recording.last_loss.step,
        "best_loss": recording.best_loss.value,
        "best_step": recording.best_loss.step,
        "best_test_loss": recording.best_evaluation.value,
        "best_test_step": recording.best_evaluation.step,
        **{f"at_{name}": value for name, value in there.items() if name != "samples"},
    }


def spreads(recordings: Mapping[str, Recording]) -> dict[str, float]:
    """By panel, the ratio of its highest to its lowest curve, see `chart_series.spread`; of the
    loss also its `loss_span`."""
    overviews = [
        one.blocks(one.stride_for(len(one), TYPICAL_BLOCKS)) for one in recordings.values()
    ]
    # Of the steps that all have taken: one that has just begun is compared with how others began.
    taken = min((one.last_step for one in recordings.values() if len(one)), default=0)
    shared = [_up_to(taken, blocks) for blocks in overviews]
    spans = [
        loss_span(blocks[MEAN], one.evaluations.array[1])
        for one, blocks in zip(recordings.values(), overviews, strict=True)
    ]
    if len(recordings) < 2:
        return {"loss": max(spans, default=1.0)}
    return {
        "loss": max(spread(blocks[MEAN] for blocks in shared), *spans, 1.0),
        "throughput": spread(_rates(recordings.values(), shared)),
        "memory": spread(blocks[MEMORY] for blocks in shared),
        "metric": spread(shown_metric(one)[1] for one in recordings.values()),
    }


def _up_to(step: int, blocks: np.ndarray) -> np.ndarray:
    """The blocks that end by `step`, and the first, which may be longer."""
    return blocks[:, : max(1, int(np.searchsorted(blocks[STEP], step, "right")))]


def _rates(recordings: Iterable[Recording], overviews: list[np.ndarray]) -> Iterable[np.ndarray]:
    for one, blocks in zip(recordings, overviews, strict=True):
        totals = blocks[STEP], blocks[SECONDS], blocks[SAMPLES]
        yield trailing_rate(*totals, one.rate_window, one.warm_up)


def shown_metric(recording: Recording) -> tuple[np.ndarray, np.ndarray]:
    """Steps and values, in its unit, of the metric that a chart shows; empty without one."""
    metric = recording.evaluations.metric
    return (np.empty(0), np.empty(0)) if metric is None else recording.evaluations.of(metric)

"""The record of a run as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.runs.reader import NewPoints

if TYPE_CHECKING:
    import pandas as pd


def history_frame(points: NewPoints) -> pd.DataFrame:
    """One row a step.

    Columns: step (from 1), epoch (from 1), loss, seconds, samples_per_s, rss_bytes (resident set of
    the worker, as last sampled).
    """
    import pandas as pd

    return pd.DataFrame(
        {
            "step": points.step,
            "epoch": points.epoch,
            "loss": points.loss,
            "seconds": points.seconds,
            "samples_per_s": points.samples / points.seconds,
            # One sample is taken for each record of steps, at its end.
            "rss_bytes": pd.Series(points.rss_bytes).bfill(),
        }
    )


def evaluations_frame(points: NewPoints) -> pd.DataFrame:
    """One row an evaluation of the test split: step, epoch, loss, accuracy (0 to 1 or NaN)."""
    import pandas as pd

    columns = ["step", "epoch", "loss", "accuracy"]
    rows = [event for event in points.events if event["event"] == "evaluation"]
    return pd.DataFrame(rows, columns=columns).astype({"loss": float, "accuracy": float})

"""The events of a run as pandas DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.run_folder.run_reader import NewPoints

if TYPE_CHECKING:
    import pandas as pd


def history_frame(points: NewPoints) -> pd.DataFrame:
    """One row per step.

    Columns: step (from 1), epoch (from 1), loss, seconds, samples_per_s, rss_bytes (resident set of
    the worker at the next sample). Of a run of several processes rss_bytes is their sum, and
    rank_0_rss_bytes and so on are those of each.
    """
    import pandas as pd

    return pd.DataFrame(
        {
            "step": points.step,
            "epoch": points.epoch,
            "loss": points.loss,
            "seconds": points.seconds,
            "samples_per_s": points.samples / points.seconds,
            # There is one sample per event, at its last step.
            "rss_bytes": pd.Series(points.rss_bytes).bfill(),
            **{
                f"rank_{rank}_rss_bytes": pd.Series(sizes).bfill()
                for rank, sizes in enumerate(points.rank_rss_bytes)
            },
        }
    )


def evaluations_frame(points: NewPoints) -> pd.DataFrame:
    """One row per evaluation of the test split: step, epoch, loss and the metrics of the task.

    accuracy (0 to 1), perplexity (text), r2 and mean_absolute_error (regression); NaN if not
    applicable.
    """
    import pandas as pd

    measures = ["loss", "accuracy", "perplexity", "r2", "mean_absolute_error"]
    columns = ["step", "epoch", *measures]
    rows = [event for event in points.events if event["event"] == "evaluation"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(measures, float))


def confusion_frame(points: NewPoints) -> pd.DataFrame | None:
    """The confusion matrix of the last evaluation; None where there is none.

    One row per true class: the number of targets by predicted class, and in `accuracy` the share
    that is right, 0 to 1, NaN for a class without targets.
    """
    import numpy as np
    import pandas as pd

    last = next((each for each in reversed(points.events) if each["event"] == "evaluation"), {})
    if not last.get("confusion"):
        return None
    frame = pd.DataFrame(last["confusion"]).rename_axis(index="class", columns="predicted")
    counts = frame.to_numpy()
    frame["accuracy"] = np.diag(counts) / np.where(counts.any(axis=1), counts.sum(axis=1), np.nan)
    return frame


def layers_frame(points: NewPoints) -> pd.DataFrame:
    """One row per recorded step and layer: step, layer, gradient_norm, update_ratio.

    NaN where a value was not finite, or a layer's weights were all 0.
    """
    import pandas as pd

    columns = ["step", "layer", "gradient_norm", "update_ratio"]
    rows: list[tuple[int, str, float | None, float | None]] = []
    names: list[str] = []
    for event in points.events:
        if event["event"] == "layers":
            names = event["names"]
        elif event["event"] == "layer_statistics":
            values = zip(names, event["gradient_norms"], event["update_ratios"], strict=False)
            rows += [(event["step"], *each) for each in values]
    measures = ["gradient_norm", "update_ratio"]
    return pd.DataFrame(rows, columns=columns).astype(
        {"step": int, **dict.fromkeys(measures, float)}
    )

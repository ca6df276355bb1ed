"""The final losses of recorded runs, as far as they compare."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from workbench.display.number_format import loss_text
from workbench.run_folder.run_reader import NewPoints
from workbench.runs import Run

MOST_NAMED = 4
"""Of more runs, the sentence has the lowest losses and the highest."""


class FinalLosses(NamedTuple):
    """The last test loss of each run, or of the last batch where some were not tested."""

    sentence: str
    """The losses, lowest first, or why they do not compare; empty: there are fewer than two."""
    lowest: str = ""
    """Which run has the lowest, as "lowest test loss: ondevice"; empty: they do not compare."""


def test_loss(points: NewPoints) -> float:
    """The loss on the test split of the last evaluation; NaN: there was none, or it is not
    finite."""
    return _number(_last_evaluation(points).get("loss"))


def final_losses(runs: Mapping[str, Run], points: Mapping[str, NewPoints]) -> FinalLosses:
    """The final losses of runs.

    Args:
        runs: by their names.
        points: what each has recorded, by the same names.
    """
    runs = {name: run for name, run in runs.items() if len(points[name].loss)}
    if len(runs) < 2:
        return FinalLosses("")
    for what, values in (
        ("datasets", {str(run.spec["dataset"]) for run in runs.values()}),
        ("loss functions", {str(run.config.loss) for run in runs.values()}),
    ):
        if len(values) > 1:
            return FinalLosses(f"Their losses do not compare: they are of different {what}.")
    evaluations = {name: _last_evaluation(points[name]) for name in runs}
    tested = all(evaluations.values())
    losses = {
        name: _number(evaluations[name].get("loss")) if tested else float(points[name].loss[-1])
        for name in runs
    }
    what = "test loss" if tested else "loss of the last batch"
    order = sorted(losses, key=lambda name: (not math.isfinite(losses[name]), losses[name]))
    texts = [f"{name}: {_text(losses[name], evaluations[name], tested)}" for name in order]
    if len(texts) > MOST_NAMED:
        texts[MOST_NAMED - 1 : -1] = [f"{len(texts) - MOST_NAMED} others"]
    lowest = f"lowest {what}: {order[0]}" if _is_lowest(losses, order) else ""
    return FinalLosses(f"{what.capitalize()}, lowest first: {'; '.join(texts)}.", lowest)


def _is_lowest(losses: Mapping[str, float], order: list[str]) -> bool:
    """Whether one is lower than all others, in the digits that are shown."""
    first, second = (losses[name] for name in order[:2])
    return math.isfinite(first) and loss_text(first) != loss_text(second)


def _text(loss: float, evaluation: Mapping[str, object], tested: bool) -> str:
    accuracy = _number(evaluation.get("accuracy")) if tested else math.nan
    right = f" (accuracy {100 * accuracy:.1f} %)" if math.isfinite(accuracy) else ""
    return f"{loss_text(loss)}{right}"


def _last_evaluation(points: NewPoints) -> Mapping[str, object]:
    found = (each for each in reversed(points.events) if each.get("event") == "evaluation")
    return next(found, {})


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan

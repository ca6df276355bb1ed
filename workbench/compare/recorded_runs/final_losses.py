"""The final losses of recorded runs, as far as they compare."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.display.number_format import loss_text, percent
from workbench.run_folder.run_reader import NewPoints
from workbench.runs import Run

MOST_NAMED = 4
"""Of more runs, the sentence has the lowest losses and the highest."""


class FinalLosses(NamedTuple):
    """The last test loss of each run that was tested; where fewer than two were, the loss of each
    last batch."""

    sentence: str
    """The losses, lowest first, or why they do not compare; empty: there are fewer than two."""
    lowest: str = ""
    """Which run has the lowest, as "lowest test loss: ondevice"; empty: they do not compare."""


def test_loss(points: NewPoints) -> float:
    """The loss on the test split of the last evaluation; NaN: there was none, or it is not
    finite."""
    return _number(_last_evaluation(points).get("loss"))


def final_losses(
    runs: Mapping[str, Run], points: Mapping[str, NewPoints], reference: str
) -> FinalLosses:
    """The final losses of runs.

    Args:
        runs: by their names.
        points: what each has recorded, by the same names.
        reference: one of the names; runs of other data or of another loss function than its are
            left out, and named.
    """
    runs = {name: run for name, run in runs.items() if len(points[name].loss)}
    if len(runs) < 2:
        return FinalLosses("")
    base = runs.get(reference) or next(iter(runs.values()))
    others = {name: other for name, run in runs.items() if (other := _unlike(run, base))}
    alike = [name for name in runs if name not in others]
    if len(alike) < 2:
        what = " and ".join(dict.fromkeys(f"{other}s" for other in others.values()))
        return FinalLosses(f"Their losses do not compare: they are of different {what}.")
    evaluations = {name: found for name in alike if (found := _last_evaluation(points[name]))}
    tested = len(evaluations) > 1
    final = {
        name: _of_test(evaluations[name]) if tested else _of_batch(points[name])
        for name in (evaluations if tested else alike)
    }
    order = sorted(final, key=lambda name: (not math.isfinite(final[name].loss), final[name].loss))
    one_step = len({each.step for each in final.values()}) == 1
    texts = [f"{name}: {_text(final[name], with_step=not one_step)}" for name in order]
    if len(texts) > MOST_NAMED + 1:
        texts[MOST_NAMED - 1 : -1] = [f"{len(texts) - MOST_NAMED} others"]
    texts += [f"{name}: not tested" for name in alike if name not in final]
    texts += [f"{name}: another {other}" for name, other in others.items()]
    what = "test loss" if tested else "loss of the last batch"
    compares = (tested or one_step) and _is_lowest(final, order)
    lowest = f"lowest {what}: {order[0]}" if compares else ""
    return FinalLosses(f"{what.capitalize()}, lowest first: {'; '.join(texts)}.", lowest)


def _unlike(run: Run, reference: Run) -> str:
    """Why the loss of a run does not compare; empty: it does."""
    if run.spec["dataset"] != reference.spec["dataset"]:
        return "dataset"
    return "" if str(run.config.loss) == str(reference.config.loss) else "loss function"


class _Final(NamedTuple):
    loss: float
    step: int
    accuracy: float = math.nan
    """0 to 1; NaN where there is none."""


def _of_test(evaluation: Mapping[str, Any]) -> _Final:
    loss, accuracy = (_number(evaluation.get(name)) for name in ("loss", "accuracy"))
    return _Final(loss, int(evaluation["step"]), accuracy)


def _of_batch(points: NewPoints) -> _Final:
    return _Final(float(points.loss[-1]), int(points.step[-1]))


def _is_lowest(final: Mapping[str, _Final], order: list[str]) -> bool:
    """Whether one is lower than all others, in the digits that are shown."""
    first, second = (final[name].loss for name in order[:2])
    return math.isfinite(first) and loss_text(first) != loss_text(second)


def _text(final: _Final, *, with_step: bool) -> str:
    step = f" at step {final.step:,}" if with_step else ""
    known = math.isfinite(final.accuracy)
    return f"{loss_text(final.loss)}{step}" + (
        f" (accuracy {percent(final.accuracy)} %)" if known else ""
    )


def _last_evaluation(points: NewPoints) -> Mapping[str, Any]:
    found = (each for each in reversed(points.events) if each.get("event") == "evaluation")
    return next(found, {})


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan

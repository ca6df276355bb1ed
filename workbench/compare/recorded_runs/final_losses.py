"""The final losses of recorded runs, as far as they compare."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from workbench.compare.recorded_runs.run_names import SEPARATOR
from workbench.compare.run_texts import what_it_trained_on
from workbench.display.number_format import loss_text, percent, significant
from workbench.run_folder.run_reader import NewPoints
from workbench.runs import Run

MOST_NAMED = 4
"""Of more runs, the sentence has the lowest losses and the highest."""
NEAR = 1.01
"""A ratio below which the digits of others would read 1.00."""


class FinalLosses(NamedTuple):
    """The last test loss of each run that was tested; where fewer than two were, the loss of each
    last batch; where the loss functions differ, the accuracies or R²."""

    sentence: str
    """The figures, best first, or why they do not compare; empty: there are fewer than two."""
    what: str = ""
    """What they are, as "final test loss"."""
    by_run: Mapping[str, float] = MappingProxyType({})
    """Those that are finite, best first; empty where they do not compare, or none is the best."""
    measure: str = "loss"
    """Or "accuracy" (0 to 1) or "r2", of which the highest is the best."""

    @property
    def best(self) -> str:
        """The best in a few words, as "lowest final test loss 0.2031: lr 0.01"; empty where none is
        known. What all names begin with is left out, as the end is cut off where there is little
        room."""
        if not self.by_run:
            return ""
        name, value = next(iter(self.by_run.items()))
        one_start = len({each.partition(SEPARATOR)[0] for each in self.by_run}) == 1
        short = name.partition(SEPARATOR)[2] if one_start else ""
        what = self.what.removeprefix("last ")
        superlative = "lowest" if self.measure == "loss" else "highest"
        return f"{superlative} {what} {self.text(value)}: {short or name}"

    def text(self, value: float) -> str:
        """One of the figures as it is written."""
        return loss_text(value) if self.measure == "loss" else _measure_text(self.measure, value)


def last_tested(points: NewPoints, name: str) -> float:
    """The loss, or another measure, on the test split of the last evaluation; NaN: there was none,
    or it is not finite.

    Args:
        points: what was recorded.
        name: "loss", "accuracy" (0 to 1) or "r2".
    """
    return _number(_last_evaluation(points).get(name))


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
    ended = all(run.ended for run in runs.values())
    others = {name: other for name, run in runs.items() if (other := _unlike(run, base))}
    alike = [name for name in runs if name not in others]
    if len(alike) < 2:
        what = " and ".join(dict.fromkeys(f"{other}s" for other in others.values()))
        why = f"Their losses do not compare: they are of different {what}."
        same_data = [name for name in runs if others.get(name) != "dataset"]
        return _measures({name: points[name] for name in same_data}, ended, why)
    evaluations = {name: found for name in alike if (found := _last_evaluation(points[name]))}
    tested = len(evaluations) > 1
    final = {
        name: _of_test(evaluations[name]) if tested else _of_batch(points[name])
        for name in (evaluations if tested else alike)
    }
    one_step = len({each.step for each in final.values()}) == 1
    whole = all(each.step == points[name].step[-1] for name, each in final.items())
    # The loss of one batch tells nothing of that of another step.
    comparable = tested or one_step
    by_loss = sorted(
        final, key=lambda name: (not math.isfinite(final[name].loss), final[name].loss)
    )
    order = by_loss if comparable else [*final]
    lowest = final[order[0]].loss if comparable else math.nan
    groups: dict[str, list[str]] = {}  # the same figures are told once: none is lower
    for name in order:
        text = _text(final[name], lowest, with_step=not (one_step and whole))
        groups.setdefault(text, []).append(name)
    texts = [f"{' and '.join(names)}: {text}" for text, names in groups.items()]
    if len(texts) > MOST_NAMED + 1:
        between = sum(map(len, [*groups.values()][MOST_NAMED - 1 : -1]))
        texts[MOST_NAMED - 1 : -1] = [f"{between} others"]
    texts += [f"{name}: not tested" for name in alike if name not in final]
    for name, other in others.items():
        accuracy = math.nan if other == "dataset" else last_tested(points[name], "accuracy")
        known = f" (accuracy {percent(accuracy)} %)" if math.isfinite(accuracy) else ""
        texts.append(f"{name}: another {other}{known}")
    what = _tested("loss", ended, whole=whole) if tested else "loss of the last batch"
    named = f"{what.capitalize()}, {'lowest first' if comparable else 'at different steps'}: "
    begins = named if len(groups) > 1 else f"{what.capitalize()} of "
    decided = comparable and _is_lowest(final, order)
    drawn = [name for name in order if decided and math.isfinite(final[name].loss)]
    return FinalLosses(
        f"{begins}{'; '.join(texts)}.",
        what,
        {name: final[name].loss for name in drawn},
    )


def ratio_to_lowest(loss: float, lowest: float) -> str:
    """How many times the lowest a loss is, as "2.17" with a multiplication sign, with more digits
    near 1; empty where it is the lowest, in the digits that are shown, or where one is not positive
    and finite."""
    known = math.isfinite(loss) and lowest > 0
    if not known or loss_text(loss) == loss_text(lowest):
        return ""
    ratio = loss / lowest
    return f"{ratio:.3f}×" if ratio < NEAR else f"{significant(ratio)}×"  # noqa: RUF001


def _tested(what: str, ended: bool, *, whole: bool) -> str:
    """What is told of the last evaluations; `whole`: these are of the last steps."""
    if not ended:
        return f"test {what} so far"
    return f"{'final' if whole else 'last'} test {what}"


MEASURES = {"accuracy": "accuracy", "r2": "R²"}
"""What decides where losses do not compare, by its name in an evaluation: the highest is best."""


def _measures(points: Mapping[str, NewPoints], ended: bool, why: str) -> FinalLosses:
    """The accuracies, or R², of runs whose losses do not compare, and `why` they do not."""
    for measure in MEASURES:
        found = {name: last_tested(each, measure) for name, each in points.items()}
        known = {name: value for name, value in found.items() if math.isfinite(value)}
        if len(known) > 1:
            break
    else:
        return FinalLosses(why)
    order = sorted(known, key=known.__getitem__, reverse=True)
    written = {name: _measure_text(measure, known[name]) for name in order}
    texts = [f"{name}: {text}" for name, text in written.items()]
    if len(texts) > MOST_NAMED + 1:
        texts[MOST_NAMED - 1 : -1] = [f"{len(texts) - MOST_NAMED} others"]
    tested = {name: _last_evaluation(points[name]).get("step") for name in known}
    whole = all(step == points[name].step[-1] for name, step in tested.items())
    what = _tested(MEASURES[measure], ended, whole=whole)
    one_is_best = written[order[0]] != written[order[1]]
    return FinalLosses(
        f"{why} {what[0].upper()}{what[1:]}, highest first: {'; '.join(texts)}.",
        what,
        {name: known[name] for name in order} if one_is_best else {},
        measure,
    )


def _measure_text(measure: str, value: float) -> str:
    return f"{percent(value)} %" if measure == "accuracy" else f"{value:.3f}"


def _unlike(run: Run, reference: Run) -> str:
    """Why the loss of a run does not compare; empty: it does."""
    if what_it_trained_on(run) != what_it_trained_on(reference):
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


def _text(final: _Final, lowest: float, *, with_step: bool) -> str:
    step = f" at step {final.step:,}" if with_step else ""
    known = math.isfinite(final.accuracy)
    accuracy = f"accuracy {percent(final.accuracy)} %" if known else ""
    times = ratio_to_lowest(final.loss, lowest)
    further = ", ".join(filter(None, (f"{times} the lowest" if times else "", accuracy)))
    return f"{loss_text(final.loss)}{step}" + (f" ({further})" if further else "")


def _last_evaluation(points: NewPoints) -> Mapping[str, Any]:
    found = (each for each in reversed(points.events) if each.get("event") == "evaluation")
    return next(found, {})


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan

"""Comparison of recorded runs of any time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workbench.compare.columns import COLUMNS, TESTED
from workbench.compare.differences import (
    OF_CONTENT,
    differences_frame,
    differing,
    explaining,
    settings_of,
)
from workbench.compare.load_comparison import measured_together, with_loads
from workbench.compare.loss_agreement import random_draws
from workbench.compare.recorded_runs.final_losses import FinalLosses, final_losses
from workbench.compare.recorded_runs.recorded_row import recorded_row
from workbench.compare.recorded_runs.run_names import distinct_names
from workbench.compare.recorded_runs.run_verdict import NO_LOSSES, unpaired_verdict
from workbench.compare.rounds.statistics import Ratio
from workbench.compare.run_texts import (
    failures_badge,
    few_measured,
    in_progress,
    measured_differently,
    resumptions,
    shared_caption,
    shortfalls,
    what_is_measured,
)
from workbench.compare.verdict import Verdict, short_verdict, verdict_of
from workbench.run_folder.results.step_results import StepResults
from workbench.runs import Run
from workbench.runs.record.disturbances import disturbances, unknown_load
from workbench.runs.record.duration import recorded_time
from workbench.runs.run_title import start_text
from workbench.settings.engines import REFERENCE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class _Read(NamedTuple):
    """What was read of the runs at one time, so that sentence and table agree."""

    table: pd.DataFrame
    losses: FinalLosses = NO_LOSSES
    results: Mapping[str, StepResults] = MappingProxyType({})
    """Of runs that were not measured together."""
    missing_baseline: str = ""
    """A sentence where the throughputs cannot be those that the whole comparison found."""
    doubts: str = ""
    """Sentences on the runs of which little is known."""
    agreement: Sequence[str] = ()
    """How far the losses differ between engines, or why they do."""


class RunComparison:
    """Recorded runs, returned by `compare_runs`.

    Throughput is that of the run, see `Run.samples_per_s`. Ratios are of these: there are no rounds
    with the same load for all runs, so there is no interval. Of runs that one comparison measured
    in lockstep, both are those of that comparison.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs: dict[str, Run] = dict(zip(distinct_names(runs), runs, strict=True))
        """By their names, see `distinct_names`."""
        self._together = measured_together(runs)
        self.measured_together = self._together is not None
        """Whether they are of one comparison, whose ratios and medians of rounds hold for them."""
        self._final: _Read | None = None
        """What `_read` has found, once it stays the same."""

    def __repr__(self) -> str:
        return f"<RunComparison of {', '.join(self.runs)}>"

    @property
    def reference(self) -> str:
        """The run that the others are compared with: the first of PyTorch, else the first; of those
        that have ended in their warm-up only where all have."""
        measured = {title: run for title, run in self.runs.items() if _has_measured_steps(run)}
        engines = {title: run.engine for title, run in (measured or self.runs).items()}
        first = next(iter(engines))
        return next((title for title, name in engines.items() if name == REFERENCE), first)

    @property
    def ended(self) -> bool:
        return all(run.ended for run in self.runs.values())

    @property
    def _settled(self) -> bool:
        """Whether the figures stay: the run that all were measured against has ended, too."""
        baseline = None if self._together is None else self._together.baseline_run()
        return self.ended and (baseline is None or baseline.ended)

    @property
    def caption(self) -> str:
        """Model, dataset and machine of the runs; those for which they are equal stand together."""
        return shared_caption(self.runs)

    def table(self) -> pd.DataFrame:
        """One row per run with the columns of `Comparison.table`; without lockstep `rounds` is 0,
        and `test_loss` and `test_accuracy` (0 to 1) are the last on the test split, NaN without.

        `ratio` is NaN for a run whose speed does not compare with the reference's.
        """
        return self._read().table.copy()

    def _read(self) -> _Read:
        if self._final is not None:
            return self._final
        settled, found = self._settled, self._read_together() or self._read_apart()
        if settled:
            self._final = found
        return found

    def _read_together(self) -> _Read | None:
        import pandas as pd

        if self._together is None:
            return None
        missing = self._missing_baseline
        table = self._together.comparison.table().set_index(pd.Index([*self.runs], name="run"))
        agreement = self._together.comparison.loss_agreement()
        return _Read(table, missing_baseline=missing, agreement=agreement)

    def _read_apart(self) -> _Read:
        import pandas as pd

        points = {name: run.follow().poll() for name, run in self.runs.items()}
        results = {name: run.step_results(points[name]) for name, run in self.runs.items()}
        speeds = {name: found.samples_per_s for name, found in results.items()}
        unlike = self._unlike
        rows = [
            recorded_row(
                run,
                points[name],
                speeds[name],
                math.nan if name in unlike else speeds[self.reference],
            )
            for name, run in self.runs.items()
        ]
        columns = [*COLUMNS, *TESTED]
        table = pd.DataFrame(rows, index=pd.Index([*self.runs], name="run"), columns=columns)
        known = with_loads(self.runs, results)
        losses = final_losses(self.runs, points, self.reference)
        steps = {
            name: int((points[name].step > run.config.warmup_steps).sum())
            for name, run in self.runs.items()
        }
        found = measured_differently(self.runs), few_measured(steps), unknown_load(known)
        doubts = " ".join(filter(None, found))
        return _Read(table, losses, known, doubts=doubts, agreement=random_draws(self.runs))

    @property
    def step_results(self) -> Mapping[str, StepResults]:
        """Those of each run, by its name; none of runs that were measured together."""
        return self._read().results

    @property
    def deciding_losses(self) -> FinalLosses:
        """The final losses where settings, models or datasets differ: the runs are then compared
        by them; else none."""
        return self._deciding(self._read())

    def _deciding(self, read: _Read) -> FinalLosses:
        return read.losses if self._differing or self._unlike else NO_LOSSES

    @property
    def badge(self) -> str:
        """The main result in a few words, for a place with little room: the run of the lowest loss
        where settings differ, else the ratios."""
        read = self._read()
        if self._together is not None:
            level = self._verdict(read, ()).level
            found = short_verdict(_measured_ratios(read.table), self.reference, level)
        elif not (found := self._deciding(read).best):
            ratios = {
                str(name): Ratio(float(value), math.nan, math.nan)
                for name, value in read.table["ratio"].items()
            }
            level = "busy" if disturbances(read.results) else "unpaired"
            found = short_verdict(ratios, self.reference, level, paired=False)
        return failures_badge(self.runs) + found

    def verdict(self) -> Verdict:
        """Interpretation of the ratios, in one sentence."""
        running = in_progress(self.runs)  # first: what ends meanwhile has figures of so far
        return self._verdict(self._read(), running)  # once: of runs in progress it reads their logs

    def _verdict(self, read: _Read, running: Sequence[str]) -> Verdict:
        if self._together is None:
            found = self._verdict_apart(read)
        else:
            load, ratios = self._together.comparison.load, _measured_ratios(read.table)
            found = verdict_of(ratios, self.reference, load, len(self.runs))
        further = [*running, read.missing_baseline, *resumptions(self.runs)]
        further += [*shortfalls(self.runs), *read.agreement, *self._damage]
        return found._replace(sentence=" ".join(filter(None, [found.sentence, *further])))

    def _verdict_apart(self, read: _Read) -> Verdict:
        ratios, speeds = (
            {str(name): float(value) for name, value in read.table[column].items()}
            for column in ("ratio", "samples_per_s")
        )
        found = unpaired_verdict(
            ratios,
            self.reference,
            losses=read.losses,
            differing=self._differing,
            days=len({*filter(None, map(_day, self.runs.values()))}),
            busy=disturbances(read.results),
            unknown=bool(unknown_load(read.results)),
            speeds=speeds,
            unlike=self._unlike,
        )
        if found.level == "none" and self._unlike and not measured_differently(self.runs):
            return found
        return found._replace(sentence=f"{found.sentence}\n{read.doubts}".rstrip())

    @property
    def _differing(self) -> list[str]:
        """The settings that differ, without the names of model and dataset; the engine only beside
        others."""
        found = differing({name: settings_of(run) for name, run in self.runs.items()})
        names = [name for name, of in OF_CONTENT.items() if name in found and of not in found]
        names += [name for name in found if explaining(name) and name not in ("model", "dataset")]
        if sum(name.startswith("lora.") for name in names) > 1:  # one run has none
            names = list(dict.fromkeys("lora" if n.startswith("lora.") else n for n in names))
        names += ["machine"] if any(name.startswith("machine.") for name in found) else []
        return ["engine", *names] if names and "engine" in found else names

    @property
    def _missing_baseline(self) -> str:
        if self._together is None or self._together.baseline_run() is not None:
            return ""
        return (
            f"The run of {self._together.baseline} that these were measured against cannot be "
            "read: their throughputs here are of their own rounds alone, and differ from those in "
            "the list of runs."
        )

    @property
    def _damage(self) -> list[str]:
        """A sentence for each run of whose record a part is missing."""
        return [text for run in self.runs.values() if (text := run.damage)]

    def differences(self) -> pd.DataFrame:
        """The settings that differ between the runs: one row a setting, one column a run."""
        return differences_frame({name: settings_of(run) for name, run in self.runs.items()})

    def plot(self) -> Figure:
        """Plot loss, throughput and memory of all runs."""
        from workbench.runs.figures.figure import plot_runs

        return plot_runs(self.runs)

    @property
    def _unlike(self) -> dict[str, list[str]]:
        """What is different, of each run whose speed does not compare with the reference's."""
        reference = what_is_measured(self.runs[self.reference])
        found = {
            name: [each for each, of in what_is_measured(run).items() if of != reference[each]]
            for name, run in self.runs.items()
        }
        return {name: what for name, what in found.items() if what}


def _has_measured_steps(run: Run) -> bool:
    """Whether it has, or may still have, steps after its warm-up."""
    return not run.ended or run.progress.done_steps > run.config.warmup_steps


def _day(run: Run) -> str:
    """The day on which the run was started, in local time; empty if that is not recorded."""
    return start_text(recorded_time(run.spec, "launched")).rpartition(" ")[0]


def _measured_ratios(table: pd.DataFrame) -> dict[str, Ratio]:
    """The ratios of runs that were measured in lockstep, by their names."""
    columns = table[["ratio", "ratio_low", "ratio_high"]]
    return {str(row.Index): Ratio(*map(float, row[1:])) for row in columns.itertuples()}

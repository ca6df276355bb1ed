"""The row of one run, from its folder."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from workbench.errors import RunFolderError, WorkbenchError, exception_text
from workbench.files.advisory_lock import is_locked
from workbench.run_folder.labels import labels_or_problem
from workbench.run_folder.results.step_results import StepResults
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.run_reader import RunReader
from workbench.runs.failure import ends_early, failure_cause
from workbench.runs.listing.row import RunRow
from workbench.runs.listing.step_scan import StepScan
from workbench.runs.record.activity import Status
from workbench.runs.record.duration import duration_s, started_at
from workbench.runs.run_title import main_settings, step_word, trained_by
from workbench.settings.config import TrainingConfig

METRICS = ("accuracy", "perplexity", "r2", "mean_absolute_error")
"""Metrics of an evaluation; the first that applies to the task is shown."""
UNREAD = StepResults(math.nan, math.nan, (), None)
"""Of a run whose log was left out."""
READ_WHOLE_BYTES = 2_000_000
"""Up to this size the log of a run that has ended, and has not recorded its results, is read whole:
about 50,000 steps, in 0.04 s."""


class _Found(NamedTuple):
    """Results, and how far they can be relied on: see `RunRow`."""

    results: StepResults
    complete: bool = True
    sampled: bool = False


class RowReader:
    """Reads the row of one run repeatedly; of its event log, only new events, and of one that has
    ended only the end."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._scan: StepScan | None = None
        self.active = False
        """Whether the worker was alive when the row was read last."""

    def read(self, *, quick: bool = False) -> RunRow:
        """The row as it is now. Never raises: what cannot be read is `unreadable`, with a reason.

        Args:
            quick: leave out values that need the whole event log, unless it was read before.
        """
        try:
            return self._read(quick)
        except (WorkbenchError, OSError) as error:
            reason = str(error)
        except Exception as error:  # a corrupt file must not hide the other runs
            reason = f"The record of this run cannot be read: {exception_text(error)}"
        self.active = False
        labels, _ = labels_or_problem(self._folder)
        return RunRow(
            self._folder.id,
            "unreadable",
            reason=reason,
            name=labels.name,
            tags=labels.tags,
            notes=labels.notes,
        )

    def _read(self, quick: bool) -> RunRow:
        folder = self._folder
        spec, config = folder.read_spec_and_config()
        # The summary is written after the last event: the events read after it are complete.
        summary, problem = self._summary()
        scan = self._scan or StepScan(config.warmup_steps)
        at_end = self._scan is None and (quick or StepResults.recorded(summary) is not None)
        if at_end:
            scan.read_end(folder.events_path)
        else:
            self._scan = scan
            scan.catch_up(folder.events_path)
        self.active = summary is None and not problem and is_locked(folder.watchdog_lock_path)
        if summary is None and not problem and not self.active:
            # It may have ended between the two.
            summary, problem = self._summary()
        status, reason = self._status(spec, summary, problem, scan.state)
        labels, label_problem = labels_or_problem(folder)
        found = self._results(config, summary, scan, at_end)
        results = found.results
        evaluation = (summary or {}).get("evaluation") or scan.evaluation
        metric_name, metric = _metric(evaluation)
        return RunRow(
            id=folder.id,
            status=status,
            name=labels.name,
            model=spec["model"],
            dataset=spec["dataset"],
            engine=config.engine,
            trained_by=trained_by(spec),
            settings=main_settings(config, step_word(spec)),
            comparison=_comparison(spec),
            reason=reason or label_problem,
            damage=self._damage(spec, scan, int((summary or {}).get("steps") or 0)),
            started=started_at(spec),
            duration_s=duration_s(folder, spec, summary, self.active),
            was_paused=bool((summary or {}).get("was_paused")) or scan.was_paused,
            step_word=step_word(spec),
            steps=scan.steps or int((summary or {}).get("steps") or 0),
            total_steps=config.total_steps(spec["samples"]),
            last_loss=scan.last_loss,
            best_loss=results.best_loss,
            metric_name=metric_name,
            metric=metric,
            test_loss=_number(evaluation, "loss"),
            samples_per_s=results.samples_per_s,
            disturbance=results.disturbance,
            load_known=results.load is not None,
            sampled=found.sampled,
            curve=results.loss_curve,
            complete=found.complete,
            tags=labels.tags,
            notes=labels.notes,
        )

    def _results(
        self,
        config: TrainingConfig,
        summary: dict[str, Any] | None,
        scan: StepScan,
        at_end: bool,
    ) -> _Found:
        """What the steps came to: as recorded, else from the log, of which a long one is sampled,
        and of which only the end was read if `at_end`."""
        recorded = StepResults.recorded(summary)
        if recorded is not None:
            return _Found(recorded)
        if at_end:
            return _Found(UNREAD, complete=False)
        speed, best = ((summary or {}).get(name) for name in ("samples_per_s", "best_loss"))
        long = scan.sampled and (scan.size > READ_WHOLE_BYTES or speed is not None)
        if self.active or long:
            return _Found(
                StepResults(
                    scan.samples_per_s if speed is None else float(speed),
                    scan.best_loss if best is None else float(best),
                    scan.curve.points(),
                    None,
                ),
                sampled=scan.sampled and speed is None,
            )
        # Of an older version, or of a worker that was killed.
        points = RunReader(self._folder).poll()
        return _Found(StepResults.of(points, config, speed))

    def _damage(self, spec: dict[str, Any], scan: StepScan, taken: int) -> str:
        # The end of a long log may have no step.
        if scan.steps >= taken or (scan.steps == 0 and scan.size > 0):
            return ""
        return ends_early(self._folder.events_path, step_word(spec), scan.steps, taken)

    def _summary(self) -> tuple[dict[str, Any] | None, str]:
        """The summary, and why it cannot be read."""
        try:
            return self._folder.read_summary(), ""
        except RunFolderError as error:
            return None, str(error)

    def _status(
        self, spec: dict[str, Any], summary: dict[str, Any] | None, problem: str, state: Status
    ) -> tuple[Status, str]:
        """The status and the reason for it."""
        if problem:
            return "unreadable", problem
        if self.active:
            return state, ""
        if summary is None:
            cause = failure_cause(self._folder, None, lambda: True, spec.get("launched"))
            return "failed", str((cause or {}).get("message", ""))
        failed, refused = summary.get("error"), summary.get("resume_error")
        parts = [failed["message"]] if failed else []
        parts += [summary["reason"]] if summary.get("reason") else []
        parts += [f"It could not be resumed: {refused['message']}"] if refused else []
        return summary["status"], " ".join(parts)


def _metric(evaluation: dict[str, Any] | None) -> tuple[str, float]:
    """Name and value of the metric to show of an evaluation; NaN if its loss was not finite."""
    if evaluation is None:
        return "", math.nan
    name = next((name for name in METRICS if evaluation.get(name) is not None), "loss")
    return "test_loss" if name == "loss" else name, _number(evaluation, name)


def _number(evaluation: dict[str, Any] | None, name: str) -> float:
    """A value of an evaluation; NaN if it was not finite, or there is none."""
    value = (evaluation or {}).get(name)
    return math.nan if value is None else float(value)


def _comparison(spec: dict[str, Any]) -> str:
    found = spec.get("comparison")
    return found if isinstance(found, str) and spec.get("resumed_from") is None else ""

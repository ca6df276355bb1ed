"""Shows the points and the outcome of a job in the step Train."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.controller import State
from workbench.controller.engine_rows import EngineRows
from workbench.controller.jobs.comparison_job import ComparisonJob
from workbench.controller.jobs.job import Job, is_of, model_of
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.sources import LossProblem
from workbench.controller.recorded_runs.worst_rows import WorstRowsReader
from workbench.controller.view import View
from workbench.models import Model
from workbench.run_folder.events import Event
from workbench.run_folder.run_reader import NewPoints
from workbench.runs import Run
from workbench.runs.listing import Changes
from workbench.runs.record.activity import ENDED
from workbench.widgets.charts import (
    COMPARING_HINT,
    DATA_HINT,
    EMPTY_HINT,
    IN_SEQUENCE,
    LOSS_HINT,
    NOTHING_HINT,
    READING_HINT,
    READY_HINT,
    UNFIT_HINT,
    deleted_run,
    other_model,
    results_in_runs,
    resumed_run,
    throughput_notes,
)
from workbench.widgets.train.train_parts import TrainParts

REFRESH_S = 1.0
"""Interval at which rows and layers are updated during a run."""

GIVE_DATA_HINT = "A dataset is missing."
"""Hint of the charts where the step is used alone; the status says what to do."""


class TrainView(View):
    """Shows the points and the outcome of a job."""

    def __init__(self, parts: TrainParts, alone_hint: str | None = None) -> None:
        """Start with no job.

        Args:
            parts: the widgets to show jobs in.
            alone_hint: hint of the charts while there is no model, where the step is used alone;
                None: it is a part of the app.
        """
        self._parts = parts
        self._alone = alone_hint is not None
        self._job: Job | None = None
        """The shown job; not a comparison, which the step Compare shows."""
        self._compares = False
        """Whether the job in progress is a comparison."""
        self._ended: Job | None = None
        """The shown job, once it has ended."""
        self._chosen = ""
        """Name of the chosen model; empty without one."""
        self._results_hints: dict[str, str] = {}
        """Where the results are that were removed for a model, by its name."""
        self._deleted: set[str] = set()
        """Ids of runs that were deleted."""
        self._resumed: set[str] = set()
        """Ids of runs that went on after the shown job had ended."""
        self._empty = EMPTY_HINT if alone_hint is None else alone_hint
        """The hint while there is no model."""
        self._hint = self._empty
        parts.charts.hint = self._hint
        self._shown_lock = threading.RLock()
        """Held while it is decided what is shown: the engines of the form, or the results of a
        job."""
        parts.engines.observe(self._name_chosen, "value")
        self._worst = WorstRowsReader()
        self._evaluated: set[str] = set()
        """Engines that were evaluated since their rows were shown."""
        self._rated: set[str] = set()
        """Engines whose throughput of the whole run is shown."""
        self._refresh_after = 0.0

    def show_state(self, state: State) -> None:
        self._parts.charts.flush()
        self._show_rates_of_ended()
        if time.monotonic() >= self._refresh_after:
            self._refresh()
        # A job that has ended is active while its figure is made; another model may be chosen.
        starting = state.active and state.status not in ENDED and not state.compares
        if starting and state.message and self._parts.charts.empty:
            # While a run starts, the charts show the current activity; the status has the time.
            self._parts.charts.hint = state.message

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._parts.engines.update_for(model)
        self._hint = self._empty if model is None else READY_HINT
        self._chosen = "" if model is None else model.name
        with self._shown_lock:
            if self._job is None:
                # Compare may have been pressed while the model was being loaded. A cell may assign
                # to a model and to its data one after the other: the model is then shown twice.
                hint = self._results_hints.get(self._chosen, self._hint)
                self._parts.charts.hint = COMPARING_HINT if self._compares else hint
            elif model is not None and self._ended is not None:
                shown = model_of(self._ended)
                if not is_of(self._ended, model):
                    self._ended = self._job = None
                    self._clear([])
                    self._results_hints = {model.name: results_in_runs(shown)}
                    self._parts.charts.hint = self._results_hints[model.name]
            self._name_chosen()
            self._caption()

    def _name_chosen(self, _: Any = None) -> None:
        """Until a job is shown, name the chosen engines: the charts would move as it starts."""
        with self._shown_lock:
            if self._job is None:
                charts, known = self._parts.charts, self._hint != self._empty
                charts.reset(self._parts.engines.value if known else [], hint=charts.hint)
                charts.evaluates = True

    def _caption(self) -> None:
        """Tell results of another model than the chosen one from those of it."""
        shown = model_of(self._job)
        other = shown and self._chosen and shown != self._chosen
        runs = {} if self._job is None else self._job.runs
        parts = [other_model(shown, self._chosen)] if other else []
        parts += [deleted_run(engine) for engine, run in runs.items() if run.id in self._deleted]
        parts += [resumed_run(engine) for engine, run in runs.items() if run.id in self._resumed]
        self._parts.charts.caption = " ".join(parts)

    def follow(self, changes: Changes, resumed: Sequence[str]) -> None:
        """The recorded runs have changed: say which of those shown were deleted or resumed, and
        name them as they are now."""
        changed = {row.id for row in changes.rows}
        with self._shown_lock:
            for engine, run in ({} if self._job is None else self._job.runs).items():
                if run.id in changed:
                    self._parts.charts.name(engine, run)
            self._deleted.update(changes.removed)
            self._deleted -= changed
            if self._ended is not None:  # else this page has resumed it
                self._resumed.update(resumed)
            self._caption()

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        if self._hint != self._empty:
            shown = self._parts.charts.hint == self._hint
            if preview is None:
                self._hint = GIVE_DATA_HINT if self._alone else DATA_HINT
            elif problem:
                self._hint = LOSS_HINT if isinstance(problem, LossProblem) else UNFIT_HINT
            else:
                self._hint = READY_HINT
            if shown:  # not what a run that starts does, or where the results before are
                self._parts.charts.hint = self._hint

    def show_engines(self, rows: EngineRows) -> None:
        self._parts.engines.show(rows)

    def job_started(self, job: Job) -> None:
        self._compares = isinstance(job, ComparisonJob)
        if self._compares:  # the results of the last training stay
            if self._parts.charts.empty:
                self._parts.charts.hint = COMPARING_HINT
            return
        with self._shown_lock:
            self._job, self._ended, self._resumed, self._results_hints = job, None, set(), {}
            self._clear(job.engines)
            if any(run.progress.done_steps for run in job.runs.values()):
                self._parts.charts.hint = READING_HINT
            self._caption()
        self._parts.charts.evaluates = any(
            run.spec["config"].get("evaluate", True) for run in job.runs.values()
        )
        for run in job.runs.values():
            if run.federation is not None:
                self._parts.charts.step_name = "round"
                self._parts.federation.begin(run, self._worst.classes(run))

    def _clear(self, engines: Sequence[str]) -> None:
        """Remove shown results and prepare for these engines."""
        self._parts.charts.reset(engines)
        self._parts.charts.step_name = "step"
        self._parts.statistics.clear()
        self._parts.federation.clear()
        self._parts.evaluation.clear()
        self._parts.worst.clear()
        self._parts.layers.clear()
        self._worst.clear()
        self._evaluated, self._rated = set(), set()
        self._refresh_after = 0.0

    def show_total_steps(self, steps: int) -> None:
        if not self._compares:
            self._parts.charts.total_steps = steps

    def add_points(self, engine: str, points: NewPoints) -> None:
        if self._compares:
            return
        run = None if self._job is None else self._job.runs.get(engine)
        self._parts.charts.add(engine, points, 0 if run is None else run.config.warmup_steps)
        if run is not None:
            self._parts.charts.name(engine, run)
        self._parts.layers.add(engine, points.events, points.restored_step)
        self._parts.federation.add(points.events)
        if any(event["event"] == "evaluation" for event in points.events):
            self._evaluated.add(engine)
            self._show_evaluation(engine, points.events)

    def _show_evaluation(self, engine: str, events: Sequence[Event]) -> None:
        """With the names of the classes, which are those of the dataset that the run was given."""
        run = self._job.runs.get(engine) if self._job is not None else None
        if run is not None:
            self._parts.evaluation.classes = self._worst.classes(run)
        federated = run is not None and run.federation is not None
        self._parts.evaluation.add(engine, events, federated)

    def _refresh(self) -> None:
        """Show the worst rows of the last evaluations, the layers and the rounds."""
        self._parts.layers.flush()
        self._parts.federation.flush()
        evaluated, self._evaluated = self._evaluated, set()
        job = self._job
        for engine in evaluated:
            if job is not None and engine in job.runs:
                rows = self._worst.rows(job.runs[engine])
                with self._shown_lock:
                    if self._job is job:  # another model may have been chosen meanwhile
                        self._parts.worst.show(engine, *rows)
        self._refresh_after = time.monotonic() + REFRESH_S

    def job_ended(self, job: Job) -> None:
        if self._compares:
            self._compares = False
            if self._parts.charts.empty:
                self._parts.charts.hint = self._hint
            return
        self._refresh()
        with self._shown_lock:  # another model may be chosen meanwhile
            self._ended = job
            self._show_rates(job.runs)
            self._parts.charts.evaluates = False
            self._parts.charts.hint = NOTHING_HINT
            self._parts.statistics.show(job.runs, notes=True)

    def _show_rates_of_ended(self) -> None:
        """Of each engine that has trained as soon as the next one begins."""
        with self._shown_lock:
            before = [] if self._job is None else list(self._job.runs)[:-1]
            if self._job is not None and not set(before) <= self._rated:
                self._show_rates({engine: self._job.runs[engine] for engine in before})

    def _show_rates(self, runs: Mapping[str, Run]) -> None:
        """The throughput of each of these runs, as in the list of runs."""
        charts = self._parts.charts
        self._rated = set(runs)
        results = {engine: run.step_results() for engine, run in runs.items()}
        rates = {engine: found.samples_per_s for engine, found in results.items()}
        remark, note = throughput_notes(results)
        charts.remark = f"{IN_SEQUENCE} {remark}".rstrip() if len(runs) > 1 else remark
        if self._ended is not None:  # those that were not started will not be either
            rates = dict.fromkeys(self._ended.engines, math.nan) | rates
        for engine, run in runs.items():
            if run.folder.path.exists():
                continue
            del rates[engine]  # its records are gone: what was shown of it stays
            if charts.rates.get(engine) is not None:
                rates[engine] = charts.rates[engine]
        charts.show_rates(rates, note)

    def job_failed(self) -> None:
        self._compares = False
        with self._shown_lock:
            self._ended = self._job  # what is shown of it stays until another model is chosen
            if self._job is not None:
                self._parts.charts.evaluates = False
        self._parts.charts.hint = self._hint

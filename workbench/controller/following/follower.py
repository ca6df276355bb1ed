"""Follows a job: passes its new points and its state to a view."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection

from workbench.chart_series.evaluations import Evaluations
from workbench.chart_series.incidents import Incident, IncidentWatch
from workbench.controller.following.risen_losses import risen_losses
from workbench.controller.following.update_pace import always, next_update
from workbench.controller.jobs.comparison_job import ComparisonJob
from workbench.controller.jobs.job import Job, ended_early
from workbench.controller.jobs.outcome import diverged
from workbench.controller.jobs.remaining_time import Pace
from workbench.controller.state import Level, State
from workbench.controller.view import View
from workbench.display.quantities import duration_text
from workbench.errors import RunError
from workbench.run_folder.run_reader import RunReader
from workbench.runs.record.activity import ENDED
from workbench.runs.record.labelled_run import total_duration_s
from workbench.runs.run_title import step_word

PERIOD_S = 0.1
"""Interval of polls: as often as a worker writes its steps."""
LOOK_S = 1.0
"""Interval of looks at the status of a job that is shown less often than this."""
CONTROLLED_S = 2.0
"""For so long after it was controlled every poll looks at it, and what it does is shown soon."""
SOON_S = 0.2
"""Interval of updates meanwhile."""
IDLE = ("starting", "paused")
"""Statuses of a training with that interval, as an update disturbs no step then."""
SILENT_S = 10.0
"""It is said where a run takes no step for longer than this, as one whose worker hangs,"""
UNUSUAL = 10.0
"""and for longer than so many of its last steps."""

CAVEATS = {"diverged": "loss diverged", "leap": "loss leapt"}

LEVELS: dict[str, Level] = {
    "paused": "paused",
    "completed": "done",
    "stopped": "paused",
    "interrupted": "paused",
    "failed": "error",
    "unreadable": "error",
}


class Follower:
    """Reads new events of the runs of one job, each time it is polled."""

    def __init__(
        self,
        job: Job,
        view: View,
        show_state: Callable[[State], None],
        make_pace: Callable[[], Callable[[], float]] = lambda: always(0.0),
    ) -> None:
        """Follow a job.

        Args:
            job: the job to follow.
            view: receives its points.
            show_state: called with its state.
            make_pace: called whenever training begins or goes on. What it makes returns about
                how many seconds pass between two states, see `next_update`; a change of status is
                shown within `LOOK_S`, and what a user asked for at once.
        """
        self.job = job
        self._view = view
        self._show_state = show_state
        self._make_pace = make_pace
        self._update_pace = make_pace()
        self._shown_at = self._looked_at = self._controlled_at = -math.inf
        self._shown_status = ""
        self._refused = ""
        """Why the job was not paused, resumed or stopped."""
        self._readers: dict[str, RunReader] = {}
        self._done_steps: dict[str, int] = {}
        self._epochs: dict[str, int] = {}
        self._losses: dict[str, IncidentWatch] = {}
        self._evaluations: dict[str, Evaluations] = {}
        self._total_steps = 0
        self._started = time.monotonic()
        """When the comparison, or the engine that started last, has started."""
        self._waits_since = math.inf
        """When the last new step was seen, or training began or went on; infinite meanwhile."""
        self._step_s = 0.0
        """Duration of the last steps, on average."""
        self._pace = Pace()
        self._compares = isinstance(job, ComparisonJob)

    def poll(self) -> str:
        """Report new points and state, if it is time for that; returns the status of the job."""
        now = time.monotonic()
        is_idle = self._shown_status in IDLE and not self._compares
        pace_s = SOON_S if is_idle else self._update_pace()
        if self._is_watched:
            pace_s = min(pace_s, SOON_S)
        due = now >= next_update(self._shown_at, pace_s)
        if not due and not self._is_watched and now < self._looked_at + LOOK_S:
            return self._shown_status  # each look reads three files
        self._looked_at = now
        self.job.advance()
        # The status first: events written before the end are then read before the end is shown. And
        # again, as a short run may begin or end meanwhile: its points are not ahead of its status.
        status, found = self._shown_status, self.job.status
        if found == status and not due:
            return status
        while True:
            status = found
            self._read()
            if status == (found := self.job.status):
                break
        if status in ENDED:
            self._view.show_total_steps(max(self._done_steps.values(), default=0))
        if status == "running" and self._shown_status in IDLE:
            self._update_pace = self._make_pace()  # what starting took says nothing of training
        self._shown_status, self._shown_at = status, time.monotonic()
        self._show_state(self._state(status))
        return status

    def control(self, action: Callable[[Job], None]) -> None:
        """Pause, stop or resume the job: the next poll shows it, and those of the next seconds look
        whether it has. A refusal is shown for as long."""
        self._refused = ""
        try:
            action(self.job)
        except RunError as error:  # such as of a comparison that another process controls
            self._refused = str(error)
        self._controlled_at, self._shown_at = time.monotonic(), -math.inf

    def _read(self) -> None:
        """Report the points that were written since the last call."""
        for engine, run in self.job.runs.items():
            if engine not in self._readers:
                if self._readers and not self._compares:
                    self._started = time.monotonic()
                self._readers[engine] = run.follow()
                self._total_steps = run.progress.total_steps
                self._view.show_total_steps(self._total_steps)
            points = self._readers[engine].poll()
            evaluations = self._evaluations.setdefault(engine, Evaluations())
            if points.restored_step is not None:
                self._done_steps[engine] = points.restored_step
                evaluations.cut(points.restored_step)
                if engine in self._losses:
                    self._losses[engine].cut(points.restored_step)
            if len(points.step):
                self._waits_since = time.monotonic()
                self._step_s = float(points.seconds.mean())
                losses = self._losses.setdefault(engine, IncidentWatch())
                losses.add(points.step, points.loss, points.samples)
                self._done_steps[engine] = int(points.step[-1])
                self._epochs[engine] = int(points.epoch[-1])
            evaluations.add(points.events)
            self._view.add_points(engine, points)

    def _state(self, status: str) -> State:
        caveat = ""
        if status in ENDED:
            level, message, detail = self._last_level(status), self.job.outcome, self._duration
            failed = self._failed_losses
            # As the charts say it.
            told = [f"{name}: {each.text}." for name, found in failed.items() for each in found]
            message = "\n".join([*told, message, *self._risen(failed)])
            kinds = [CAVEATS[each.kind] for found in failed.values() for each in found]
            if level == "done" and (caveat := next(iter(kinds), self.job.caveat)):
                level = "paused"
        else:
            level, message = LEVELS.get(status, "busy"), self.job.doing
            detail = self._elapsed if status == "starting" else self._where
        share = self._share
        if self._refused and self._is_watched:
            level, message = "error", self._refused
        if status != "running":
            self._pace = Pace()  # what a pause took says nothing of how fast the run is
            self._waits_since = math.inf
        elif self._waits_since == math.inf:
            self._waits_since = time.monotonic()
        left_s = -1.0 if status != "running" else self._pace.left_s(share)
        if silent := self._silence:
            detail, left_s = f"{detail}; {silent}", -1.0
        return State(status, level, message, detail, share, left_s, self._compares, caveat=caveat)

    @property
    def _silence(self) -> str:
        """How long the run has taken no step, where that is unusual."""
        run = [*self.job.runs.values()][-1] if self.job.runs else None
        waits_s = time.monotonic() - self._waits_since
        evaluates = min(self._done_steps.values(), default=0) >= self._total_steps > 0
        if run is None or evaluates or waits_s <= max(SILENT_S, UNUSUAL * self._step_s):
            return ""
        return f"no {step_word(run.spec)} for {duration_text(waits_s)}"

    @property
    def _is_watched(self) -> bool:
        return time.monotonic() < self._controlled_at + CONTROLLED_S

    def _last_level(self, status: str) -> Level:
        if self.job.failed or any(diverged(run) for run in self.job.runs.values()):
            return "error"
        if status == "stopped" and not self.job.runs:
            return "idle"  # nothing was started, so nothing is done
        return LEVELS[status]

    @property
    def _failed_losses(self) -> dict[str, list[Incident]]:
        """What kept a loss from falling, by engine; none of an engine whose loss fell."""
        found = {
            engine: [each for each in losses.incidents if each.kind in CAVEATS]
            for engine, losses in self._losses.items()
        }
        return {engine: incidents for engine, incidents in found.items() if incidents}

    def _risen(self, failed: Collection[str]) -> list[str]:
        """See `risen_losses`, of the engines that have not `failed`."""
        if not self.job.runs:
            return []
        fell = {name: each for name, each in self._evaluations.items() if name not in failed}
        return risen_losses(fell, step_word(next(iter(self.job.runs.values())).spec))

    @property
    def _share(self) -> float:
        # What has ended early has no steps left to take, unless the whole job was stopped.
        early = {engine for engine, run in self.job.runs.items() if ended_early(run)}
        if len(early) == len(self.job.runs) or self._shown_status == "stopped":
            early = {engine for engine in early if self.job.runs[engine].error is not None}
        total = self._total_steps * (len(self.job.engines) - len(early))
        done = (steps for engine, steps in self._done_steps.items() if engine not in early)
        return sum(done) / total if total else 0.0

    @property
    def _where(self) -> str:
        waits = "before its first step" if self._shown_status == "paused" else self._elapsed
        if not self._done_steps:
            return waits
        if self._compares:  # the others go on when one has failed
            engine, done = max(self._done_steps.items(), key=lambda item: item[1])
        else:
            engine = list(self.job.runs)[-1]
            done = self._done_steps.get(engine, 0)
        if not done:  # those before it have taken all of theirs
            return waits
        if step_word(self.job.runs[engine].spec) == "round":
            return f"round {done:,} of {self._total_steps:,}"
        return f"step {done:,} of {self._total_steps:,}, epoch {self._epochs.get(engine, 1)}"

    @property
    def _duration(self) -> str:
        """How long the job took: from its record, since it may have ended before it was shown."""
        runs = list(self.job.runs.values())
        # Engines in turn may have been resumed since: what lies between is none of their time.
        seconds = total_duration_s(runs) if self._compares else sum(r.duration_s for r in runs)
        seconds = seconds if runs else math.nan
        pauses = ", pauses included" if any(run.was_paused for run in runs) else ""
        return "" if math.isnan(seconds) else f"{duration_text(seconds)}{pauses}"

    @property
    def _elapsed(self) -> str:
        return f"{time.monotonic() - self._started:.0f} s"

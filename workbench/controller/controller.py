"""Starts, follows and controls training and comparisons for a view."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from workbench.compare import Comparison
from workbench.controller.background.footprint_predictor import Predictor
from workbench.controller.background.model_loader import ModelLoader
from workbench.controller.background.task_runner import TaskRunner
from workbench.controller.engine_rows import engine_rows
from workbench.controller.following.follower import PERIOD_S, Follower
from workbench.controller.following.update_pace import pace_of
from workbench.controller.forms.loss_suggestion import LossSuggestion
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.jobs.comparison_job import ComparisonJob
from workbench.controller.jobs.job import Job, is_part
from workbench.controller.jobs.model_to_resume import model_to_resume
from workbench.controller.jobs.offered_runs import Offer, accepted, going_on, offers
from workbench.controller.jobs.start import Load, start_comparison, start_training
from workbench.controller.jobs.stoppable_load import StoppedEarlyError, stoppable
from workbench.controller.jobs.training import Training
from workbench.controller.model.namespace import own_names
from workbench.controller.model.sources import Sources
from workbench.controller.readiness import CHOOSE, Readiness, loading_text
from workbench.controller.request_thread import RequestThread
from workbench.controller.setup import Setup
from workbench.controller.shown_state import ShownState
from workbench.controller.state import IN_PROGRESS, PREPARING, STOPPED_EARLY, State, failure
from workbench.controller.view import View, Views
from workbench.errors import RunError
from workbench.models import Model
from workbench.runs import Run
from workbench.runs.record.activity import ENDED


class Controller:
    """Runs one job at a time. Its methods return immediately and may be called from any thread:
    slow work runs on threads of the controller, and training in workers."""

    def __init__(
        self,
        view: View,
        setup: Setup | None = None,
        names: Callable[[], Mapping[str, Any]] = own_names,
    ) -> None:
        """Start with no model and no job.

        Args:
            view: is notified of every change.
            setup: settings of the next job; the view changes it in place.
            names: returns the objects of the notebook by name.
        """
        self.setup = Setup() if setup is None else setup
        self.obstacle: Callable[[], str] = lambda: ""
        """Returns why no job can start now; empty: one can. Called on a thread of its own."""
        self.typed = TypedSettings(self.setup)
        self.views = Views(view)
        self._shown = ShownState(CHOOSE, self.typed, self.views.show_state)
        told = self._shown.has_result, self._shown.last.forget_refusal
        self.readiness = Readiness(self._shown.show_readiness, self.typed, *told)
        self.sources = Sources(names)
        self._follower: Follower | None = None
        self._idle = threading.Event()
        self._idle.set()
        self._cancelled = threading.Event()
        """Set when a job is stopped while its model and data are loaded."""
        self._models = ModelLoader(
            self.views,
            self.sources,
            self.setup.loss,
            LossSuggestion(self.typed),
            lambda model: self.typed.set_defaults(model.defaults),
            self._on_side_error,
        )
        self._requests = RequestThread("workbench-page", self._on_error, self._poll, PERIOD_S)
        self._engines = RequestThread("workbench-engines", self._on_side_error)
        find, load = self._models.loading_of, self._models.loading_with_data
        self.model_to_resume = partial(model_to_resume, setup=self.setup, find=find, names=names)
        """Returns the model that a run needs to be resumed; None: it needs none."""
        self.going_on = partial(going_on, loading=load)
        """Returns the job of a run that was resumed, with the engines that waited for it."""
        self.artifacts = Predictor(self.views, load, find)
        self.tasks = TaskRunner(self.views, self.setup, find, load)
        self.views.add(self.readiness, self.tasks, self._models.check)
        self.typed.observe(self._models.loss_changed, self._on_typed, self.tasks.update)

    @property
    def state(self) -> State:
        """The state that is shown."""
        return self._shown.now

    def choose_model(self, model: Model | str) -> None:
        """Choose a `Model`, or a source of `Sources.model`; an empty string chooses none."""
        self.setup.model = model.name if isinstance(model, Model) else model.strip()
        self.setup.profiled = False
        self.artifacts.drop()
        self.readiness.loading = self.setup.model
        loading = State("idle", "busy", loading_text(self.setup.model))
        self._shown.show_beside(loading if self.setup.model else self.readiness.choose)
        self._models.choose(model, self.setup.example_inputs)

    def choose_dataset(self, dataset: str, target: str = "", groups: str = "") -> None:
        """Choose a source of `Sources.dataset`; an empty string chooses that of the model."""
        self.setup.choose_dataset(dataset, target, groups)
        if self.setup.dataset:
            self._shown.show_beside(State("idle", "busy", loading_text(self.setup.dataset)))
        self._models.choose_dataset(dataset, target, groups)

    def list_engines(self) -> None:
        """Find out which engines can run here, for the view."""
        self._engines.ask(lambda: self.views.show_engines(engine_rows()))

    def list_offers(self) -> None:
        """Find out which runs are in progress or were interrupted; the view is notified."""
        self._engines.ask(self._show_offers)

    def predict(self) -> None:
        """Generate the artifacts for the current setup, and predict the memory of training."""
        self.artifacts.predict(self.setup.copy())

    def profile(self) -> None:
        """Measure the time of each node in on-device training; a job that begins ends that."""
        if not self.state.active:
            self.setup.profiled = True
            self.artifacts.profile(self.setup.copy())

    def estimate(self) -> None:
        """Estimate the memory of training, as far as it is known without artifacts."""
        self.artifacts.estimate(self.setup.copy())

    def train(self) -> None:
        """Train with each chosen engine in turn, or with clients, as set up now."""
        self._start_new(start_training)

    def compare(self) -> None:
        """Compare the chosen engines on the chosen model, in lockstep, as set up now."""
        self._start_new(start_comparison, PREPARING._replace(compares=True))

    def accept(self, offer: Offer) -> None:
        """Follow a run that is in progress, or go on with what has ended too soon."""

        def make() -> Job:
            job = accepted(offer, self.model_to_resume, self._models.loading_with_data)
            if offer.training is None:
                self.views.offer_accepted(job)
            return job

        self._start(make, new=offer.action != "follow")

    def show(self, job: Job | Run | Comparison) -> None:
        """Follow what was started, or has ended, elsewhere."""
        alone = Training.following(job) if isinstance(job, Run) else job
        made = ComparisonJob(alone) if isinstance(alone, Comparison) else alone
        self._start(lambda: made, PREPARING._replace(message="Reading what is recorded …"))

    def resume_refusal(self, run: Run) -> str:
        """Why `run` cannot be resumed beside what this page does; empty: it can."""
        follower = self._follower
        own = follower is not None and is_part(run, follower.job)
        return IN_PROGRESS if self.state.active and not own else self.obstacle()

    def pause(self) -> None:
        """Pause before the next step, or the next burst of a comparison."""
        self._control_job(lambda job: job.pause())

    def resume(self) -> None:
        """Resume after a pause."""
        self._control_job(lambda job: job.resume())

    def step_once(self) -> None:
        """Take one step and pause again."""
        self._control_job(lambda job: job.step_once())

    def stop(self) -> None:
        """Stop the job before its next step; its checkpoint is kept. Or end work on artifacts."""
        if not self.state.active:
            self.artifacts.stop()
        elif self._follower is None:
            self._cancelled.set()
        self._control_job(lambda job: job.stop())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until no job is in progress; False on a timeout."""
        return self._idle.wait(timeout)

    def report(self, message: str) -> None:
        """Say what else the page shows, in place of the last result, unless there is work."""
        self._shown.report(message)

    def forget_outcome(self, message: str) -> None:
        """Report readiness in place of this result of a job, and what was before this report."""
        with self._shown.lock:
            if self._shown.last.withdraw(message):
                self.readiness.update()

    def bring_back(self, result: State) -> None:
        """Show the result of the last job again, unless there is another: its runs are back."""
        with self._shown.lock:
            if not self._shown.last.has_message:
                self._shown.last.ended(result)
                self.readiness.update()

    def close(self) -> None:
        """End the threads; a job in progress continues without them."""
        for part in (self._models, self._engines, self.artifacts, self.tasks):
            part.close()
        self._requests.ask(self._idle.set)  # as no job is followed any more
        self._requests.close()

    def _show_offers(self) -> None:
        found = offers(self.sources.names())
        with self._shown.lock:
            # Jobs started meanwhile are followed already; other requests can wait.
            self.views.show_offers([] if self.state.active else found)

    def _start_new(self, begin: Callable[[Setup, Load], Job], state: State = PREPARING) -> None:
        setup = self.setup.copy()
        load = stoppable(self._models.loading_with_data(setup), self._cancelled.is_set)
        self._start(lambda: begin(setup, load), state, new=True)

    def _start(self, make: Callable[[], Job], state: State = PREPARING, new: bool = False) -> None:
        self._idle.clear()
        with self._shown.lock:
            if self.state.status in ENDED:  # the figures of the last job are still being made
                self._shown.show(state)
        self._requests.ask(lambda: self._begin(make, state, new))

    def _begin(self, make: Callable[[], Job], state: State, new: bool) -> None:
        """Create a job and follow it, unless there is one. Runs on the thread of requests."""
        if self._follower is not None:
            return
        if new and (obstacle := self.obstacle()):
            raise RunError(obstacle)
        self._idle.clear()  # a job that ended after this one was asked for has set it
        self._cancelled.clear()
        self._shown.show(state)
        if new:
            self.artifacts.give_way()
        try:
            job = make()
        except StoppedEarlyError:
            self.views.job_failed()
            self._set_idle(STOPPED_EARLY)
            return
        self._shown.last.forget()
        self.views.job_started(job)
        self._follower = Follower(job, self.views, self._shown.show, partial(pace_of, job))
        self._poll()

    def _poll(self) -> bool:
        if self._follower is None:
            return False
        if self._follower.poll() in ENDED:
            self._finish(self._follower.job)
        return self._follower is not None

    def _finish(self, job: Job) -> None:
        with self._shown.lock:
            if self.state.status in ENDED:  # else the next job was asked for meanwhile
                self._shown.last.ended(self.state._replace(status="idle"))
        try:
            self.views.job_ended(job)
        finally:
            self._follower = None
            with self._shown.lock:
                if self.state.status in ENDED:
                    self._set_idle(self.state._replace(status="idle"))

    def _set_idle(self, state: State) -> None:
        self._shown.show(state)
        self._idle.set()

    def _control_job(self, action: Callable[[Job], None]) -> None:
        def act() -> None:
            if self._follower is not None:
                self._follower.control(action)
                self._poll()

        self._requests.ask(act)

    def _on_typed(self) -> None:
        """Update the message for typed settings, unless it is about work in progress."""
        with self._shown.lock:
            if self.state.level != "busy" and self.state.status != "paused":
                self.readiness.update()

    def _on_side_error(self, error: Exception) -> None:
        self._shown.show_beside(failure(error))

    def _on_error(self, error: Exception) -> None:
        """Show the error of a job that could not be started or followed."""
        self._follower = None
        self.views.job_failed()
        with self._shown.lock:
            self._shown.last.refused(failure(error))
            self._set_idle(failure(error))

"""Runs the tasks of a page one after another, on its own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from workbench.artifacts import Artifacts
from workbench.child_process.cancellation import Cancellation, CancelledError, check_cancelled
from workbench.controller.footprint_prediction import ArtifactsWithFootprint
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.request_thread import RequestThread
from workbench.controller.setup import Setup
from workbench.controller.state import State, sentence_of
from workbench.controller.tasks import TASKS
from workbench.controller.tasks.task import NO_ARTIFACTS, NO_MODEL, Inputs, Task, TaskState, refused
from workbench.controller.view import View
from workbench.data import Dataset
from workbench.errors import ConfigError
from workbench.models import Model

BUSY = "A run is in progress, and this would disturb it. Wait until it ends, or stop it."
ENDED_BY_RUN = "It was ended: a run has begun, and both would have been measured."
WAITS = "waiting for earlier tasks"


class TaskRunner(View):
    """Its methods return immediately and may be called from any thread; the view shows results."""

    def __init__(
        self,
        view: View,
        setup: Setup,
        finding: Callable[[Setup], Callable[[], Model | None]],
        loading: Callable[[Setup], Callable[[], tuple[Model, Dataset]]],
    ) -> None:
        """Start with nothing to do.

        Args:
            view: is notified of every change.
            setup: of the page.
            finding: returns a function that loads the currently chosen model of a setup.
            loading: the same, of the model and the dataset.
        """
        self._view = view
        self._setup = setup
        self._finding = finding
        self._loading = loading
        self._lock = threading.RLock()
        self._tasks = {task.name: task for task in TASKS}
        self._texts: dict[str, dict[str, str]] = {task.name: {} for task in TASKS}
        self._made_with: dict[str, Any] = {}
        """Inputs that the displayed result was computed from, by task."""
        self._cancellations: dict[str, Cancellation] = {}
        """Cancellations of the tasks that have not ended, by task."""
        self._ended_by_run: set[str] = set()
        """Names of the tasks whose cancellation is for a run."""
        self._model: Model | None = None
        self._artifacts: Artifacts | None = None
        self._active = False
        self._observers: list[Callable[[], None]] = []
        self._states = {
            task.name: TaskState({}, {}, task.applies(setup), self._refusal(task)) for task in TASKS
        }
        self._thread = RequestThread("workbench-tasks", lambda _: None)

    def observe(self, callback: Callable[[], None]) -> None:
        """Call `callback` when a task has changed the code of a step."""
        self._observers.append(callback)

    def state(self, name: str) -> TaskState:
        """Displayed state of a task."""
        return self._states[name]

    def values(self, name: str) -> Mapping[str, Any]:
        """What was given in the fields of a task.

        Raises:
            ConfigError: something that was typed cannot be read.
        """
        task = self._tasks[name]
        values, problems = task.read(self._texts[name])
        if problems:
            raise refused(task, problems)
        return values

    def open(self, name: str, opened: bool) -> None:
        """The section of a task was opened or folded; the code includes open ones."""
        with self._lock:
            if opened:
                self._setup.tasks[name] = self._readable(name)
            else:
                self._setup.tasks.pop(name, None)
        if opened:
            self._on_opened(name)
        self.notify_observers()

    def type(self, name: str, field: str, text: str) -> None:
        """Set the text of a field; empty: its default."""
        with self._lock:
            texts = {**self._texts[name], field: text}
            self._texts[name] = {each: typed for each, typed in texts.items() if typed.strip()}
            values, problems = self._tasks[name].read(self._texts[name])
            if name in self._setup.tasks:
                self._setup.tasks[name] = values
            self._change(name, texts=self._texts[name], problems=problems)
        self._tasks[name].typed(values)
        self._thread.ask(lambda: self._describe(name))
        self.update()
        self.notify_observers()

    def start(self, name: str) -> None:
        """Start a task with its current fields, unless it is running or cannot run."""
        with self._lock:
            if self._states[name].refusal or name in self._cancellations:
                return
            task, setup = self._tasks[name], self._setup.copy()
            try:
                values = self.values(name)
            except ConfigError as error:
                self._change(name, problem=str(error), result=None)
                return
            inputs = Inputs(
                setup, values, self._finding(setup), self._loading(setup), self._artifacts
            )
            made_with = self._now(name)
            self._made_with.pop(name, None)
            cancellation = self._cancellations[name] = Cancellation()
            self._change(name, doing=WAITS, problem="", result=None, outdated=False)
        self._thread.ask(lambda: self._run(task, inputs, cancellation, made_with))

    def cancel(self, name: str) -> None:
        """Cancel a task."""
        with self._lock:
            cancellation = self._cancellations.get(name)
        if cancellation is not None:
            cancellation.cancel()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all tasks so far are done; False on a timeout."""
        return self._thread.wait(timeout)

    def close(self) -> None:
        """Cancel the current task, and end the thread."""
        for name in self._tasks:
            self.cancel(name)
        self._thread.close()

    def update(self) -> None:
        """The settings have changed."""
        with self._lock:
            for name, task in self._tasks.items():
                made_with = self._made_with.get(name)
                self._change(
                    name,
                    applies=task.applies(self._setup),
                    refusal=self._refusal(task),
                    outdated=made_with is not None and made_with != self._now(name),
                )

    def show_model(self, model: Model | None, problem: str = "") -> None:  # noqa: ARG002
        with self._lock:
            self._model, self._artifacts = model, None
            for name in self._tasks:
                self._made_with.pop(name, None)
                self._change(name, problem="", result=None)
        self.update()
        self._start_opened()

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:  # noqa: ARG002
        self.update()

    def show_prediction(
        self,
        prediction: ArtifactsWithFootprint | None,
        doing: str = "",
        problem: str = "",  # noqa: ARG002
    ) -> None:
        if not doing:
            self._artifacts = None if prediction is None else prediction.artifacts
            self.update()

    def show_state(self, state: State) -> None:
        if state.active != self._active:
            self._active = state.active
            self.update()
            if state.active:
                self._give_way()
            else:
                self._start_opened()

    def _give_way(self) -> None:
        """End the tasks that measure: a run begins."""
        with self._lock:  # one that ends meanwhile is not marked
            for name, task in self._tasks.items():
                if task.measures_time and name in self._cancellations:
                    self._ended_by_run.add(name)
                    self.cancel(name)

    def _refusal(self, task: Task) -> str:
        if task.needs_model and self._model is None:
            return NO_MODEL
        if task.needs_model and self._active:
            return BUSY
        if task.needs_artifacts and self._artifacts is None:
            return NO_ARTIFACTS
        return task.refusal(self._setup)

    def _on_opened(self, name: str) -> None:
        self._thread.ask(lambda: self._describe(name))
        if not self._tasks[name].action and not self._active:  # it would disturb a run
            self.start(name)

    def _start_opened(self) -> None:
        with self._lock:
            opened = list(self._setup.tasks)
        for name in opened:
            self._on_opened(name)

    def _readable(self, name: str) -> Mapping[str, Any]:
        return self._tasks[name].read(self._texts[name])[0]

    def _now(self, name: str) -> Any:
        """Inputs that a result would be computed from now."""
        setup = self._setup
        task = self._tasks[name]
        lines = task.code(setup, self._readable(name), ["model", "data"])
        if not task.needs_model:
            return lines
        return (setup.model, *setup.chosen_dataset, setup.example_inputs, lines)

    def _run(self, task: Task, inputs: Inputs, cancellation: Cancellation, made_with: Any) -> None:
        name = task.name

        def report(text: str) -> None:
            check_cancelled()
            self._change(name, doing=text)

        try:
            with cancellation.applied():
                result = task.run(inputs, report)
            with self._lock:
                same_model = not task.needs_model or made_with[0] == self._setup.model
                if same_model:
                    self._made_with[name] = made_with
                self._change(name, result=result if same_model else None)
        except CancelledError:
            self._change(name, problem=ENDED_BY_RUN if name in self._ended_by_run else "Cancelled.")
        except BaseException as error:  # user code may raise anything; the page must continue
            self._change(name, problem=sentence_of(error))
        finally:
            with self._lock:
                del self._cancellations[name]
                self._ended_by_run.discard(name)
                self._change(name, doing="")
            self._describe(name)
            self.update()

    def _describe(self, name: str) -> None:
        try:
            self._change(name, about=self._tasks[name].describe(self._model))
        except Exception as error:  # it can be done nonetheless
            self._change(name, about=sentence_of(error))

    def _change(self, name: str, **changes: Any) -> None:
        with self._lock:
            state = self._states[name]._replace(**changes)
            if state != self._states[name]:
                self._states[name] = state
                self._view.show_task(name, state)

    def notify_observers(self) -> None:
        """Report that the code of a step has changed."""
        for callback in self._observers:
            callback()

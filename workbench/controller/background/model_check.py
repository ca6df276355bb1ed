"""Checks the chosen model on a thread of its own, while nothing is measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from workbench.child_process.cancellation import Cancellation, CancelledError
from workbench.controller.model.inspection import LayerRow, layer_rows
from workbench.controller.request_thread import RequestThread
from workbench.controller.state import State, sentence_of
from workbench.controller.tasks import TASKS
from workbench.controller.tasks.task import TaskState
from workbench.controller.view import View
from workbench.errors import UntrainableError
from workbench.models import Model
from workbench.profiling import Profile

ShowIfCurrent = Callable[[Callable[[], None]], bool]
"""Shows something in the view, unless there is a newer choice; returns whether there is none."""

CHECKING = "Checking what ONNX Runtime can train …"
WAITING = "What ONNX Runtime can train is checked once nothing is measured any more."


class _Request(NamedTuple):
    model: Model
    show: ShowIfCurrent


class ModelCheck(View):
    """Shows what ONNX Runtime can train of the model that was asked for last.

    A check may take all cores for a minute, so a job, a profile or a task that measures ends it; it
    begins again afterwards. That of an .onnx file, which takes a moment, ends by itself.
    """

    def __init__(self, view: View, on_error: Callable[[Exception], None]) -> None:
        """Start with nothing to check.

        Args:
            view: shows the verdict, and the layers with what was found.
            on_error: called with unexpected errors.
        """
        self._view = view
        self._on_error = on_error
        self._lock = threading.Lock()
        """Protects the fields."""
        self._request: _Request | None = None
        """What is to be checked, until it has been."""
        self._measured: set[str] = set()
        """What is in progress that a check would disturb: "job", "profile" or names of tasks."""
        self._cancellation = Cancellation()
        """Of the check in progress."""

    def begin(self, model: Model, show: ShowIfCurrent) -> None:
        """Check `model`, now or when nothing is measured any more; returns immediately."""
        with self._lock:
            self._go_on_or_wait(_Request(model, show))

    def drop(self) -> None:
        """End the check without a word: another model is chosen. Its profile has ended too."""
        with self._lock:
            self._cancellation.cancel()
            self._request = None
            self._measured.discard("profile")

    def show_state(self, state: State) -> None:
        self._hold("job", state.active)

    def show_profile(
        self,
        profile: Profile | None,  # noqa: ARG002
        doing: str = "",
        problem: str = "",  # noqa: ARG002
    ) -> None:
        self._hold("profile", bool(doing))

    def show_task(self, name: str, state: TaskState) -> None:
        if any(task.measures_time for task in TASKS if task.name == name):
            self._hold(name, bool(state.doing))

    def _hold(self, what: str, held: bool) -> None:
        """What is measured holds the check up; it goes on once nothing is."""
        with self._lock:
            if held == (what in self._measured):
                return
            before = bool(self._measured)
            (self._measured.add if held else self._measured.discard)(what)
            if before != bool(self._measured) and self._request is not None:
                self._go_on_or_wait(self._request)

    def _go_on_or_wait(self, request: _Request) -> None:
        text = WAITING if self._measured else CHECKING
        if not request.show(lambda: self._view.show_verdict(text)):
            return  # there is a newer choice
        self._cancellation.cancel()
        self._request = request
        if not self._measured:
            self._cancellation = cancellation = Cancellation()
            thread = RequestThread("workbench-check", self._on_error)
            thread.ask(lambda: self._check(request, cancellation))
            thread.close()

    def _check(self, request: _Request, cancellation: Cancellation) -> None:
        """Show what ONNX Runtime can train; if that is unknown, everything can still be trained."""
        from workbench.check import check

        model, show = request
        rows: Sequence[LayerRow] | None = None
        try:
            with cancellation.applied():
                found = check(model)
            shapes = model.parameter_shapes
            rows = layer_rows(model.layers(), shapes, model.parameters, found.by_layer())
            verdict = f"{found.verdict} {found.counts}"
        except CancelledError:
            return
        except Exception as error:
            cannot = isinstance(error, UntrainableError)
            begin = "It cannot be trained" if cannot else "Not known whether it can be trained"
            verdict = f"{begin}: {sentence_of(error)}"
        with self._lock:
            if cancellation.cancelled:
                return
            self._request = None
            if rows is not None:
                show(lambda: self._view.show_layers(rows))
            show(lambda: self._view.show_verdict(verdict))

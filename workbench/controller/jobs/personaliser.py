"""Personalises a model for a view: starts and follows the training, and reports its result."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from workbench.controller.request_thread import RequestThread
from workbench.controller.state import State, failure
from workbench.errors import RunError, WorkbenchError
from workbench.personalisation import (
    Examples,
    Personalisation,
    load_personalisation,
    personalise,
    prepare,
)
from workbench.personalisation.examples.example import Kind
from workbench.runs import Run

PERIOD_S = 0.2
PREPARING = State("starting", "busy", "Preparing the examples and the base model …", "0 s", 0.0)


class PersonaliserView(Protocol):
    """Called from the personaliser's thread; must return quickly."""

    def show_state(self, state: State) -> None:
        """The work in progress, or its result."""

    def show_result(self, result: Personalisation) -> None:
        """The training has ended and both models were compared."""


class Personaliser:
    """Runs one training at a time. Its methods return immediately, on any thread."""

    def __init__(self, view: PersonaliserView) -> None:
        self._view = view
        self._idle = threading.Event()
        self._idle.set()
        self._lock = threading.Lock()
        self._current: Personalisation | None = None
        self._stopping = False
        self._error: Exception | None = None
        self._started = 0.0
        self._requests = RequestThread("workbench-pad", self._on_error, self._poll, PERIOD_S)

    @property
    def active(self) -> bool:
        """Whether a training is in progress."""
        return not self._idle.is_set()

    def prepare(self, kind: Kind, settings: Callable[[], Mapping[str, Any]]) -> None:
        """Generate what a training needs, on a thread of its own. Problems are left to `train`.

        Args:
            kind: of the examples.
            settings: returns those of `personalise`; called on the thread.
        """

        def work() -> None:
            with contextlib.suppress(WorkbenchError):
                prepare(kind, **settings())

        threading.Thread(target=work, name="workbench-pad-prepare", daemon=True).start()

    def train(self, order: Callable[[], tuple[Examples, Mapping[str, Any]]]) -> None:
        """Train, unless a training is in progress.

        Args:
            order: returns the examples, which are not changed any more, and the settings of
                `personalise`; called on the personaliser's thread.
        """

        def begin() -> Personalisation:
            examples, settings = order()
            return personalise(examples, **settings)

        self._follow(begin)

    def load(self, run: Run | str, kind: Kind) -> None:
        """Show a recorded personalisation of examples of this kind, unless a training is in
        progress."""

        def begin() -> Personalisation:
            made = load_personalisation(run)
            if made.kind == kind:
                return made
            made.close()
            raise RunError(
                f"Run {made.run.id} was trained on examples of kind {made.kind!r}; this pad takes "
                f"{kind!r}."
            )

        self._follow(begin)

    def _follow(self, begin: Callable[[], Personalisation]) -> None:
        with self._lock:
            if self.active:
                return
            self._idle.clear()
            self._stopping = False
            self._error = None
        self._started = time.monotonic()
        self._view.show_state(PREPARING)
        self._requests.ask(lambda: self._begin(begin))

    def stop(self) -> None:
        """Stop before the next step; the model trained so far is compared."""
        self._stopping = True
        self._requests.ask(self._stop)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is in progress; False on a timeout.

        Raises:
            Exception: the error of the last training.
        """
        if not self._idle.wait(timeout):
            return False
        if self._error is not None:
            raise self._error
        return True

    def close(self) -> None:
        """End the thread; a training in progress is stopped."""
        self.stop()
        self._requests.ask(self._idle.set)
        self._requests.close()

    def _begin(self, begin: Callable[[], Personalisation]) -> None:
        self._current = begin()
        if self._stopping:
            self._current.stop()
        self._poll()

    def _stop(self) -> None:
        if self._current is not None:
            self._current.stop()

    def _poll(self) -> bool:
        made = self._current
        if made is None:
            return False
        if not made.done:
            self._view.show_state(self._state(made))
            return True
        made.wait()  # raises what it failed with
        self._current = None
        self._view.show_result(made)
        self._view.show_state(outcome(made))
        self._idle.set()
        return False

    def _state(self, made: Personalisation) -> State:
        run = made.run
        elapsed = f"{time.monotonic() - self._started:.0f} s"
        done, total = run.progress
        share = done / total if total else 0.0
        if made.status == "comparing":
            message = "Comparing the base model and the trained one on held-out data."
            return State("running", "busy", message, elapsed, 1.0)
        if run.status == "starting":
            return State("starting", "busy", f"Starting: {run.phase}.", elapsed, share)
        message = f"Training {run.spec['model']} on {run.engine}."
        return State("running", "busy", message, f"step {done:,} of {total:,}, {elapsed}", share)

    def _on_error(self, error: Exception) -> None:
        self._current = None
        self._error = error
        self._view.show_state(failure(error))
        self._idle.set()


def outcome(made: Personalisation) -> State:
    """The result of a training, in sentences."""
    done, total = made.run.progress
    verb = "Trained" if made.status == "completed" else f"Stopped at step {done:,} of {total:,}:"
    text = f"{verb} {made.run.spec['model']} on {made.run.engine}"
    text += f" in {made.seconds:.1f} s" if made.seconds is not None else ""
    before, after = made.before, made.after
    if before is not None and after is not None and after.accuracy is not None:
        what = "characters" if after.perplexity is not None else "examples"
        text += f": {100 * after.accuracy:.0f} % of the held-out {what} are right"
        text += f", {100 * before.accuracy:.0f} % before" if before.accuracy is not None else ""
    return State("idle", "done", f"{text}.", f"{done:,} steps", 1.0)

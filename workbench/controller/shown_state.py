"""The state that a page shows: of the job in progress, or how the last came out, or readiness."""

from __future__ import annotations

import threading
from collections.abc import Callable

from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.last_job import LastJob
from workbench.controller.state import State
from workbench.runs.record.activity import ENDED


class ShownState:
    """Decides which of several states is shown. Callable from any thread."""

    def __init__(self, first: State, typed: TypedSettings, show: Callable[[State], None]) -> None:
        """
        Args:
            first: the state at the beginning.
            typed: settings that may prevent the next job.
            show: called with each state, while `lock` is held.
        """
        self.now = first
        self.lock = threading.RLock()
        self.last = LastJob(typed)
        self._beside = False
        """Whether what is shown is no state of a job."""
        self._show_in_views = show

    def has_result(self) -> bool:
        """Whether how the last job came out is shown, or will be once nothing else is."""
        return self.last.has_message or self._ends

    @property
    def _ends(self) -> bool:
        """Whether the result of a job is shown that is not kept yet: its figures are being made."""
        return self.now.status in ENDED and self.now.level != "busy" and not self._beside

    def show(self, state: State) -> None:
        """Show the state of a job, or that none is in progress."""
        with self.lock:
            self.now, self._beside = state, False
            self._show_in_views(state)

    def show_beside(self, state: State) -> None:
        """Show the message of `state` unless a job is in progress or is about to start."""
        with self.lock:
            found = state._replace(status=self.now.status)
            if found != self.now and (not self.now.active or self.now.status in ENDED):
                self.last.forget()
                self.show(found)
                self._beside = True

    def show_readiness(self, state: State) -> None:
        """Keep the result of a job until there is more to report, but tell of wrong settings."""
        with self.lock:
            if state.level == "idle" and self._ends:
                return
            if state.level != "idle" or not self.last.has_message:
                self.show_beside(state)
            elif not self.now.active and (kept := self.last.in_place_of(state)) != self.now:
                self.show(kept)

    def report(self, message: str) -> None:
        """Say what else the page shows, in place of the last result, unless there is work."""
        with self.lock:
            if self.now.level == "error" and not self.last.has_message:
                return  # it still holds
            ended = self.now.status in ENDED  # the figures of a job are being made
            if ended or (not self.now.active and self.now.level != "busy"):
                self.last.reported(State("idle", "idle", message))
                self.show(State(self.now.status, "idle", message))

"""Takes one step of a paused run, and pauses it again."""

from __future__ import annotations

import time

from workbench.errors import RunFolderError
from workbench.run_folder.control import NO_LIMIT, grant, request_state, requested_state
from workbench.runs import Run

LONG_S = 0.5
"""Seconds after which a step that is not done is worth a message."""


class SingleStep:
    """The requested step, until it is done."""

    def __init__(self, run: Run) -> None:
        """Let the paused `run` take exactly one step."""
        self._run = run
        self._step = run.progress.done_steps + 1
        self._begin()

    def one_more(self) -> None:
        """Take another step after it: it was asked for before this one was seen to be over."""
        self._step += 1
        self._begin()

    def _begin(self) -> None:
        self._asked, self._ended = time.monotonic(), False
        grant(self._run.folder.control_path, self._step)
        request_state(self._run.folder.control_path, "run")

    def over(self) -> bool:
        """Whether the run is paused after the step, has ended, or goes on as others wish.

        Call it repeatedly: once the step is done it pauses the run.
        """
        if not self._ended and self._run.waits_after(self._step):
            self.end()
        elif not self._ended and self._is_paused_by_others():
            self._lift_limit()
        paused = self._ended and self._run.status == "paused"
        return paused or self._run.ended or self._run.progress.done_steps > self._step

    def _is_paused_by_others(self) -> bool:
        """Whether the step will not be taken, as another client has asked for a pause since."""
        try:
            return requested_state(self._run.folder.control_path) == "pause"
        except RunFolderError:  # removed with its folder
            return False

    @property
    def takes_long(self) -> bool:
        """Whether a view should say that the step is not done yet."""
        return time.monotonic() - self._asked > LONG_S and not self._ended

    def end(self) -> None:
        """Pause, and lift the limit, so that the run continues as usual when it is resumed."""
        self._run.pause()
        self._lift_limit()

    def _lift_limit(self) -> None:
        self._ended = True
        if not self._run.ended:
            grant(self._run.folder.control_path, NO_LIMIT)

"""Takes one step of a paused run, and pauses it again."""

from __future__ import annotations

import time

from workbench.run_folder.control import NO_LIMIT, grant, request_state
from workbench.runs import Run

LONG_S = 0.5
"""Seconds after which a step that is not done is worth a message."""


class SingleStep:
    """The requested step, until it is done."""

    def __init__(self, run: Run) -> None:
        """Let the paused `run` take exactly one step."""
        self._run = run
        self._asked = time.monotonic()
        self._step = run.progress.done_steps + 1
        grant(run.folder.control_path, self._step)
        request_state(run.folder.control_path, "run")

    @property
    def done(self) -> bool:
        """Whether the step was taken, and the run waits."""
        return self._run.waits_after(self._step)

    @property
    def takes_long(self) -> bool:
        """Whether a view should say that the step is not done yet."""
        return time.monotonic() - self._asked > LONG_S and not self.done

    def end(self) -> None:
        """Pause, and lift the limit, so that the run continues as usual when it is resumed."""
        self._run.pause()
        if not self._run.ended:
            grant(self._run.folder.control_path, NO_LIMIT)

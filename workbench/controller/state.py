"""State of the work in progress, as shown by views."""

from __future__ import annotations

from typing import Literal, NamedTuple

from workbench.display.encodable import encodable
from workbench.errors import WorkbenchError, exception_text

NOTHING_CHOSEN = "No model is chosen: pick a sample in the step Model, or type one."
IN_PROGRESS = "A run is in progress in this page: stop it, or wait for its end."


Level = Literal["idle", "busy", "paused", "done", "error"]


class State(NamedTuple):
    """The work in progress, or the result of the last."""

    status: str
    """Status of the job, one of `Run.status`; "idle" while there is no job."""
    level: Level
    message: str
    """One or a few sentences."""
    detail: str = ""
    """Text that changes many times a second, such as the step."""
    progress: float = -1.0
    """Share of the work done, 0 to 1; below 0 when there is no work."""
    left_s: float = -1.0
    """Estimated remaining seconds; below 0 while not known."""
    compares: bool = False
    """Whether the work is a comparison."""
    prepares: bool = False
    """Whether model and data are still being loaded: there is nothing to pause."""
    caveat: str = ""
    """Why the result of a job that has ended is no success, in a few words; empty: it is one, or
    the job failed or was stopped."""
    stoppable: bool = False
    """Whether Stop ends it though it is no job: artifacts are generated, or profiled."""

    @property
    def active(self) -> bool:
        """Whether a job is in progress."""
        return self.status != "idle"


PREPARING = State(
    "starting", "busy", "Preparing the model and its data …", progress=0.0, prepares=True
)
STOPPED_EARLY = State("idle", "idle", "Stopped before the model and its data were loaded.")


def failure(error: BaseException) -> State:
    """The state after an error: no job, and a message without a traceback."""
    return State("idle", "error", sentence_of(error))


def sentence_of(error: BaseException) -> str:
    """Message of an error, in sentences that can be sent to the browser."""
    if isinstance(error, WorkbenchError):
        return encodable(str(error))
    return encodable(f"Unexpected error: {exception_text(error)}")

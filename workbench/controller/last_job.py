"""How the last job came out, for the message while none is in progress."""

from __future__ import annotations

from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.state import State


class LastJob:
    """The result of the last job that was followed, and why one after it was refused."""

    def __init__(self, typed: TypedSettings) -> None:
        """Begin without a job.

        Args:
            typed: settings that may have caused a refusal.
        """
        self._typed = typed
        self._result: State | None = None
        self._report: State | None = None
        """What is reported in place of the result; None: nothing."""
        self._refusal: State | None = None
        self._typed_when_refused = typed.snapshot()

    def forget(self) -> None:
        """Another job has begun, or there is more to report."""
        self._result = self._report = self._refusal = None

    def ended(self, result: State) -> None:
        """It has ended with this state."""
        self._result, self._report, self._refusal = result, None, None

    def reported(self, report: State) -> None:
        """Something else is reported in place of the result, until `withdraw`."""
        self._report, self._refusal = report, None

    def withdraw(self, message: str) -> bool:
        """A result, or a report, with this message is not to be shown any more; of a report, what
        it stands in place of is shown again. Returns whether it was shown."""
        shown = self._kept is not None and self._kept.message == message
        if shown and self._report is not None:
            self._report = None
        elif self._result is not None and self._result.message == message:
            self._result = None
        self._refusal = None if shown else self._refusal
        return shown

    def forget_refusal(self) -> None:
        """What it was refused for is mended."""
        self._refusal = None

    def refused(self, refusal: State) -> None:
        """One could not be started, or not be followed any further."""
        self._refusal, self._typed_when_refused = refusal, self._typed.snapshot()

    @property
    def has_message(self) -> bool:
        """Whether there is anything to show."""
        return self._kept is not None or self._refusal is not None

    @property
    def _kept(self) -> State | None:
        """What is shown once nothing is refused or wrong."""
        return self._result if self._report is None else self._report

    def in_place_of(self, ready: State) -> State:
        """What to show in place of `ready`: a refusal while the same is typed, or else the result,
        unless a wrong setting prevents the next job."""
        if self._refusal is not None and self._typed_when_refused == self._typed.snapshot():
            return self._refusal
        return ready if self._kept is None or self._typed.wrong() else self._kept

"""The text of a job that was asked to stop, until it has."""

from __future__ import annotations

import time
from collections.abc import Callable

from workbench.runs.launch import stop_grace_s

EXPECTED_S = 20.0
"""Seconds after which a job that has not stopped is called unresponsive."""


class Stopping:
    """Remembers when a job was first asked to stop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked: float | None = None

    @property
    def asked(self) -> bool:
        """Whether it was asked to stop."""
        return self._asked is not None

    def ask(self) -> None:
        """It is asked to stop now; no effect if it was before."""
        if self._asked is None:
            self._asked = self._clock()

    def text(self, job: str, starting: bool = False) -> str:
        """What is being done, in sentences.

        Args:
            job: names it, as "digits-mlp on pytorch".
            starting: whether no step has been taken yet.
        """
        assert self._asked is not None
        text = f"Stopping {job} {'before its first' if starting else 'after its current'} step"
        if self._clock() - self._asked < EXPECTED_S:
            return f"{text}."
        kept = "" if starting else "; its last checkpoint is kept"
        return (
            f"{text}, which takes long or hangs. Its process is ended {stop_grace_s():g} s after "
            f"it was asked to stop{kept}."
        )

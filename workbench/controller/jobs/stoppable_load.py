"""Loading of a model and its data that can be given up, as user code may take minutes."""

from __future__ import annotations

import threading
from collections.abc import Callable

from workbench.controller.jobs.start import Load
from workbench.data import Dataset
from workbench.models import Model

POLL_S = 0.05
"""Interval at which is looked whether to give up."""


class StoppedEarlyError(Exception):
    """A job was stopped before its model and data were loaded."""


def stoppable(load: Load, stopped: Callable[[], bool]) -> Load:
    """`load`, which is given up when `stopped` returns True.

    It runs on a thread of its own, which cannot be ended: its result is dropped.

    Raises:
        StoppedEarlyError: it was given up.
    """

    def load_or_stop() -> tuple[Model, Dataset]:
        loaded: list[tuple[Model, Dataset]] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                loaded.append(load())
            except BaseException as error:  # user code may raise anything; raised below
                errors.append(error)

        thread = threading.Thread(target=work, name="workbench-load-job", daemon=True)
        thread.start()
        while thread.is_alive():
            if stopped():
                raise StoppedEarlyError
            thread.join(POLL_S)
        if errors:
            raise errors[0]
        return loaded[0]

    return load_or_stop

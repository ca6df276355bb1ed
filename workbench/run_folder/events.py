"""The record of a run: one JSON object a line, appended by the worker, read by anybody.

Kinds of events, by their `event` key (times are seconds since the epoch):

    started     time, pid, engine
    phase       time, text: what a starting worker is doing
    built       time, rss_before_bytes: the engine is ready; resident set just before it was built
    steps       time, first_step, losses, nanoseconds, batch_size, steps_per_epoch, rss_bytes: steps
                in a row, how long each took, and the resident set at their end
    evaluation  time, step, epoch, loss, accuracy (null where it has no meaning)
    checkpoint  time, step
    waiting     time, step: every step granted so far is done, and nothing is until the next grant
    paused, resumed  time

A loss that is not finite is written as null. The end of a run is its summary, not an event. Other
kinds of events, and other keys, are those of a newer workbench: they are passed on as they are.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from workbench.errors import RunFolderError
from workbench.files.regular_file import FOREIGN, open_regular

Event = dict[str, Any]


class EventWriter:
    """Appends events to a file, each with one `write`, so that a reader sees whole lines.

    Raises:
        OSError: the event cannot be written, for example because the disk is full.
        RunFolderError: there is a link, a pipe or a device in its place.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            if error.errno not in FOREIGN:
                raise
            raise RunFolderError(
                f"{path} is no regular file; a worker writes its record into nothing else."
            ) from None

    def write(self, event: str, **fields: Any) -> None:
        line = json.dumps({"event": event, "time": time.time(), **fields}, allow_nan=False)
        rest = line.encode() + b"\n"
        while rest:
            # Fewer bytes than given are written where the disk becomes full; then this raises.
            rest = rest[os.write(self._file, rest) :]

    def close(self) -> None:
        os.close(self._file)


class EventReader:
    """Reads events as they are appended.

    A last line that is not yet whole is left for the next poll. A whole line that is no event,
    because a crash tore it or something else wrote it, is skipped and counted.

    Attributes:
        skipped: how many lines were no events.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.skipped = 0

    def poll(self) -> list[Event]:
        """The events since the last poll."""
        # A FIFO or a device would keep its reader for ever.
        if not self._path.is_file():
            return []
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
        except OSError:  # gone with its folder meanwhile
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        events = []
        for line in whole.split(b"\n")[:-1]:
            event = parse_event(line)
            if event is None:
                self.skipped += 1
            else:
                events.append(event)
        return events


def parse_event(line: bytes) -> Event | None:
    """The event in a line; None if there is none of the shape above."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        return None
    fields = _FIELDS.get(event["event"], {})
    if not all(name in event and valid(event[name]) for name, valid in fields.items()):
        return None
    if event["event"] == "steps" and len(event["losses"]) != len(event["nanoseconds"]):
        return None
    return event


def _is_count(value: Any, least: int = 0) -> bool:
    """A whole number that int64 and float64 hold exactly."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**53


def _is_positive(value: Any) -> bool:
    return _is_count(value, 1)


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return _is_count(abs(value)) if isinstance(value, int) else False


def _is_number_or_null(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_losses(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_number_or_null, value))


def _are_durations(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_positive, value))


_FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "started": {"time": _is_number, "pid": _is_positive, "engine": _is_text},
    "phase": {"time": _is_number, "text": _is_text},
    "built": {"time": _is_number, "rss_before_bytes": _is_count},
    "steps": {
        "time": _is_number,
        "first_step": _is_positive,
        "losses": _are_losses,
        "nanoseconds": _are_durations,
        "batch_size": _is_positive,
        "steps_per_epoch": _is_positive,
        "rss_bytes": _is_count,
    },
    "evaluation": {
        "time": _is_number,
        "step": _is_count,
        "epoch": _is_positive,
        "loss": _is_number_or_null,
        "accuracy": _is_number_or_null,
    },
    "checkpoint": {"time": _is_number, "step": _is_count},
    "waiting": {"time": _is_number, "step": _is_count},
    "paused": {"time": _is_number},
    "resumed": {"time": _is_number},
}
"""What each kind of event must hold."""


def finite_or_none(values: Sequence[float]) -> list[float | None]:
    """JSON has no NaN: what is not finite becomes null."""
    return [value if math.isfinite(value) else None for value in values]

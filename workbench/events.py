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

A loss that is not finite is written as null. The end of a run is its summary, not an event.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class EventWriter:
    """Appends events to a file, each with one `write`, so that a reader sees whole lines.

    Raises:
        OSError: the event cannot be written, for example because the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, event: str, **fields: Any) -> None:
        line = json.dumps({"event": event, "time": time.time(), **fields}, allow_nan=False)
        os.write(self._file, line.encode() + b"\n")

    def close(self) -> None:
        os.close(self._file)


class EventReader:
    """Reads events as they are appended.

    A last line that is not yet whole is left for the next poll; a whole line that is not JSON was
    torn by a crash and is passed over.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def poll(self) -> list[Event]:
        """The events since the last poll."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
        except FileNotFoundError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        events = []
        for line in whole.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and "event" in event:
                events.append(event)
        return events


def finite_or_none(values: Sequence[float]) -> list[float | None]:
    """JSON has no NaN: what is not finite becomes null."""
    return [value if math.isfinite(value) else None for value in values]

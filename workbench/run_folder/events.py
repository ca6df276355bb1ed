"""The event log of a run: one JSON object per line, appended by the worker.

Kinds of events, by their `event` key (times are seconds since the epoch):

    started     time, pid, engine
    phase       time, text: progress of the start-up
    built       time, rss_before_bytes: the engine is ready; resident set before it was built
    resuming    time, step: a new worker was started to continue after this step
    restored    time, step: a resumed run continues after this step; earlier records of later steps
                are obsolete
    steps       time, first_step, losses, nanoseconds, batch_size, steps_per_epoch, rss_bytes:
                consecutive steps, the duration of each, and the resident set after the last;
                batch_size is the number of samples per step. Of a run of several processes
                rss_bytes is the sum, and rank_rss_bytes holds that of each
    load        time, step, wall_s, other_s, cores: CPU seconds that other programs used in wall_s
                seconds of training up to this step; measured after the warm-up, not while it waits
    evaluation  time, step, epoch, loss, accuracy (null if not applicable); depending on the task
                perplexity, confusion (rows: true classes, columns: predicted), r2,
                mean_absolute_error
    round       time, step, seconds, sent_bytes, received_bytes, clients: a round of federated
                training; a step is a round. Of each client its number `client`; if it trained rows,
                samples (rows times passes), loss, seconds, peak_rss_bytes; if it evaluated
                test_loss, accuracy; otherwise `left_out`, the reason. With differential privacy
                epsilon (spent so far) and clipping_norm
    layers      time, names: the layers whose statistics follow, in this order
    layer_statistics  time, step, gradient_norms, update_ratios: a number or null for each layer
    checkpoint  time, step
    saved       time, step, request, finite: the request with this number was carried out; not if a
                weight was not finite, which keeps the previous checkpoint
    waiting     time, step: all granted steps are done; the worker waits for the next grant
    paused, resumed  time

`losses` and `nanoseconds` are lists, or packed where there are many (see `step_columns`); they are
read as arrays. A loss that is not finite is written as null and read as NaN. The end of a run is
recorded in its summary, not as an event. Unknown kinds of events and unknown keys, from a newer
version, are passed on unchanged.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pydantic_core import from_json

from workbench.display.encodable import encodable_json
from workbench.errors import RunFolderError
from workbench.files.regular_file import NOT_REGULAR_FILE, open_regular
from workbench.run_folder.event_fields import validated

Event = dict[str, Any]

MOST_LINE_BYTES = 64 * 2**20
"""A longer line is not an event."""
READ_BYTES = 2**18
"""Bytes of a log that are read at once. More would cost a long log new memory all the time."""


class EventWriter:
    """Appends events to a file, each with one `write`, so that readers see complete lines.

    Raises:
        OSError: an event cannot be written, for example because the disk is full.
        RunFolderError: the path is a link, a pipe or a device.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            if error.errno not in NOT_REGULAR_FILE:
                raise
            raise RunFolderError(
                f"{path} is not a regular file; remove it and start a new run."
            ) from None

    def write(self, event: str, **fields: Any) -> None:
        line = json.dumps({"event": event, "time": time.time(), **fields}, allow_nan=False)
        rest = line.encode() + b"\n"
        while rest:
            # On a full disk a short write comes first; the next one raises.
            rest = rest[os.write(self._file, rest) :]

    def close(self) -> None:
        os.close(self._file)


class EventReader:
    """Reads events as they are appended.

    An incomplete last line is left for the next poll. A complete line that is not a valid event,
    or whose steps were recorded before, is skipped and counted.

    Attributes:
        skipped: number of lines that were skipped.
        missing_steps: number of steps before the last one that no line records.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._overlong = False
        """Whether the next bytes are the rest of a line that is skipped."""
        self.skipped = 0
        self.missing_steps = 0
        self._last_step = 0

    def poll(self) -> list[Event]:
        """The events since the last poll."""
        # Reading a FIFO or a device could block forever.
        if not self._path.is_file():
            return []
        events = []
        try:
            with self._path.open("rb", buffering=READ_BYTES) as file:
                for line in self._new_lines(file):
                    event = parse_event(line)
                    if event is None or not self._follows(event):
                        self.skipped += 1
                    else:
                        events.append(event)
        except OSError:  # removed with its folder meanwhile
            pass
        return events

    def _follows(self, event: Event) -> bool:
        """Whether its steps come after those before; a resumed run trains some again."""
        if event["event"] in ("resuming", "restored"):
            self._last_step = event["step"]
        elif event["event"] == "steps":
            first = event["first_step"]
            if first <= self._last_step:
                return False
            self.missing_steps += first - self._last_step - 1
            self._last_step = first + len(event["losses"]) - 1
        return True

    def _new_lines(self, file: BinaryIO) -> Iterator[bytes]:
        """Complete lines that were not read before, one at a time in memory."""
        # Of a file that was cut meanwhile, what follows is appended to what is left.
        self._offset = min(self._offset, file.seek(0, os.SEEK_END))
        file.seek(self._offset)
        for line in iter(lambda: file.readline(MOST_LINE_BYTES), b""):
            ended = line.endswith(b"\n")
            if not ended and len(line) < MOST_LINE_BYTES:
                return
            self._offset += len(line)
            if ended and not self._overlong:
                yield line
            elif ended:
                self.skipped += 1
            self._overlong = not ended


def parse_event(line: bytes) -> Event | None:
    """The event in a line; None if it is not valid as described above."""
    try:
        event = _parsed(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        return None
    return validated(event)


def _parsed(line: bytes) -> Any:
    try:
        # Three times as fast as `json`, which counts for a run of a million steps.
        return from_json(line)
    except ValueError:
        # It also accepts lone surrogates, which cannot be displayed.
        return encodable_json(json.loads(line))

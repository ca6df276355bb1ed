"""Reads the steps in the event log of a run, from a bounded part of it."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from workbench.files.regular_file import open_regular
from workbench.run_folder.events import parse_event
from workbench.run_folder.loss_curve import LossCurve
from workbench.run_folder.step_columns import DURATIONS, LOSSES, unpacked
from workbench.runs.record.activity import Status

WHOLE_BYTES = 64 * 1024
"""Up to this many new bytes are read whole, which takes about 0.5 ms."""
SAMPLES = 48
"""Places at which a longer part is read, evenly spaced, besides its end."""
SAMPLE_LOSSES = 8
"""Losses read from each sample."""
DURATION_BYTES = 16 * 1024
"""Up to this size a sample is extended until it has the durations of its first record."""
SAMPLE_BYTES = tuple(1024 * 2**power for power in range(9))
"""Sizes read one after another until a record begins: very fast steps make long ones."""
TAIL_BYTES = (4 * 1024, 64 * 1024, 512 * 1024)
"""How much of the end is read, until a record is in it."""
WHOLE_TAIL_BYTES = 8 * TAIL_BYTES[1]
"""Up to this many new bytes, all that the samples leave is read."""
EXACT_DIGITS = 16
"""Characters of a number that are parsed: more would take three times as long."""

_STEPS = re.compile(
    rb'\{"event": "steps", "time": [0-9.e+]+, "first_step": (\d{1,15}), "losses": ([\["])'
)
_DURATIONS = re.compile(
    rb'[\]"], "nanoseconds": (?:\[([^\]]*)\]|"([^"]*)"), "batch_size": (\d{1,15}),'
)
"""The parts of a record of steps, as `EventWriter` writes it. Parsing it as JSON takes five times
as long, and a sample may hold only its beginning."""
_CLOSING = {b"[": b"]", b'"': b'"'}
"""What ends the losses, by what begins them."""
_KIND = re.compile(rb'\{"event": "(\w{1,30})"')

_PARSED = frozenset({b"restored", b"steps"})
"""Kinds of events that are parsed as JSON where the expressions above do not match."""

_STATES: dict[bytes, Status] = {
    b"resuming": "starting",
    b"started": "starting",
    b"built": "running",
    b"resumed": "running",
    b"paused": "paused",
}


class StepScan:
    """The steps of one run so far. No part of the log is read twice, and a long one not whole.

    Attributes:
        steps: number of the last step.
        state: current activity of the worker, if it is alive.
        was_paused: whether a pause was read.
        last_loss: NaN if it was not finite.
        best_loss: the lowest that was read, also of steps that a resumed run has trained again.
        size: bytes of the log.
        sampled: whether parts of the log were skipped.
        curve: the losses over the steps.
    """

    def __init__(self, warmup_steps: int) -> None:
        self._warmup_steps = warmup_steps
        self._offset = 0
        self._samples = 0.0
        self._nanoseconds = 0.0
        self.steps = 0
        self.state: Status = "starting"
        self.was_paused = False
        self.last_loss = self.best_loss = math.nan
        self._evaluation = b""
        self.size = 0
        self.sampled = False
        self.curve = LossCurve()

    @property
    def evaluation(self) -> dict[str, Any] | None:
        """The event of the last evaluation that was read."""
        return parse_event(self._evaluation)

    @property
    def samples_per_s(self) -> float:
        """Mean throughput of the measured steps; NaN if there are none. Of a long log estimated
        from the records that were read."""
        return self._samples / self._nanoseconds * 1e9 if self._nanoseconds else math.nan

    def catch_up(self, path: Path) -> None:
        """Read what was appended to the log at `path` since the last call; errors are ignored."""
        with contextlib.suppress(OSError), _opened(path) as file:
            self.size = os.fstat(file).st_size
            new_bytes = self.size - self._offset
            if new_bytes <= WHOLE_BYTES:
                self._take_to_end(file, self._offset, new_bytes)
            else:
                self._take_samples(file, new_bytes)

    def read_end(self, path: Path) -> None:
        """Read only the last events of the log at `path`: the state, the last step and its loss,
        and an evaluation among them. Errors are ignored."""
        with contextlib.suppress(OSError), _opened(path) as file:
            self.size = os.fstat(file).st_size
            for line in _last_of_each_kind(self._tail(file, self.size)[1]):
                self._take(line)

    def _take_to_end(self, file: int, start: int, length: int) -> None:
        """Process the log from `start`; an incomplete last line is left for the next call."""
        self._take_lines(start, os.pread(file, length, start))

    def _take_lines(self, start: int, text: bytes) -> None:
        """Process the part of the log that begins at `start`."""
        end = text.rfind(b"\n") + 1
        self._offset = start + end
        for line in text[:end].split(b"\n"):
            self._take(line)

    def _take_samples(self, file: int, new_bytes: int) -> None:
        self.sampled = True
        start, end = self._offset, self._offset + new_bytes
        # What the samples do not reach is left for the last steps, which are read as they are.
        limit = end - TAIL_BYTES[1]
        earlier = self._samples, self._nanoseconds
        timed_bytes = 0
        for number in range(SAMPLES):
            at = max(self._offset, start + number * new_bytes // SAMPLES)
            sample = b""
            for length in SAMPLE_BYTES:
                sample += os.pread(
                    file, max(0, min(length, limit - at - len(sample))), at + len(sample)
                )
                found = _STEPS.search(sample)
                # A whole record, or enough losses of one.
                if found is not None and len(sample) - found.end() > 32 * SAMPLE_LOSSES:
                    close = sample.find(_CLOSING[found[2]], found.end())
                    timed = _DURATIONS.match(sample, close) if close >= 0 else None
                    if timed is None and len(sample) < min(DURATION_BYTES, limit - at):
                        continue
                    text = sample[found.end() : None if close < 0 else close]
                    self._take_losses(found, text, SAMPLE_LOSSES)
                    if timed is not None:
                        unmeasured = self._warmup_steps - int(found[1]) + 1
                        self._take_durations(sample, close, unmeasured)
                        timed_bytes += timed.end() - found.start()
                    break
            self._offset = max(self._offset, min(at, limit) + len(sample))
        # The timed records stand for all before the end, of which more is read.
        if timed_bytes:
            weight = max(1.0, (limit - start) / timed_bytes)
            self._samples = earlier[0] + weight * (self._samples - earlier[0])
            self._nanoseconds = earlier[1] + weight * (self._nanoseconds - earlier[1])
        self._take_lines(*self._tail(file, end, TAIL_BYTES[new_bytes <= WHOLE_TAIL_BYTES :]))

    def _tail(self, file: int, end: int, lengths: Sequence[int] = TAIL_BYTES) -> tuple[int, bytes]:
        """Where the last events begin, with at least one record of steps if there is one, and
        their lines."""
        for length in lengths:
            at = max(self._offset, end - length)
            tail = os.pread(file, end - at, at)
            first_line = tail.find(b"\n") + 1 if at else 0
            if _STEPS.search(tail, first_line) is not None or at == self._offset:
                break
        return at + first_line, tail[first_line:]

    def _take(self, line: bytes) -> None:
        """Process one event."""
        steps = _STEPS.match(line)
        if steps is not None:
            end = line.find(_CLOSING[steps[2]], steps.end())
            if end >= 0:
                self._take_losses(steps, line[steps.end() : end])
                self._take_durations(line, end, self._warmup_steps - int(steps[1]) + 1)
            return
        kind = _KIND.match(line)
        if kind is None or kind[1] in _PARSED:
            self._take_event(line)
        else:
            self.state = _STATES.get(kind[1], self.state)
            self.was_paused = self.was_paused or kind[1] == b"paused"
            if kind[1] == b"evaluation":
                self._evaluation = line

    def _take_event(self, line: bytes) -> None:
        """Process one event of any layout, as another version may write it."""
        event = parse_event(line)
        if event is None:
            return
        match event["event"]:
            case "steps":
                first_step = event["first_step"]
                self._take_steps(first_step, event["losses"].tolist())
                measured = event["nanoseconds"][max(0, self._warmup_steps - first_step + 1) :]
                self._nanoseconds += int(measured.sum())
                self._samples += len(measured) * event["batch_size"]
            case "restored":
                self.steps = event["step"]
                self.curve.forget_after(event["step"])
            case "evaluation":
                self._evaluation = line
            case kind:
                self.state = _STATES.get(kind.encode(), self.state)

    def _take_losses(self, found: re.Match[bytes], text: bytes, most: int | None = None) -> None:
        """Process the text of the losses of a record, or only its `most` first ones."""
        first_step = int(found[1])
        try:
            losses = _losses(text, packed=found[2] == b'"', most=most)
        except ValueError:
            return
        if first_step > 0:
            self._take_steps(first_step, losses)

    def _take_steps(self, first_step: int, losses: list[float]) -> None:
        self.state = "running"
        self.steps = first_step + len(losses) - 1
        self.last_loss = losses[-1]
        all_finite = math.isfinite(sum(losses))
        finite = losses if all_finite else [loss for loss in losses if math.isfinite(loss)]
        if finite:
            # NaN, the initial value, is not less than any loss.
            self.best_loss = min(*finite, self.best_loss)
        self.curve.add(first_step, losses, all_finite)

    def _take_durations(self, line: bytes, end: int, unmeasured: int) -> None:
        found = _DURATIONS.match(line, end)
        if found is None:
            return
        try:
            nanoseconds = _durations(found)[max(0, unmeasured) :]
        except ValueError:
            return
        self._nanoseconds += sum(nanoseconds)
        self._samples += len(nanoseconds) * int(found[3])


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    file = open_regular(path, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


def _last_of_each_kind(text: bytes) -> list[bytes]:
    """Of each kind of event the last whole line, in their order; all lines of another layout."""
    lines: dict[bytes, bytes] = {}
    for line in reversed(text[: text.rfind(b"\n") + 1].split(b"\n")):
        kind = _KIND.match(line)
        lines.setdefault(kind[1] if kind else line, line)
    return list(lines.values())[::-1]


def _durations(found: re.Match[bytes]) -> list[int]:
    """Those of a record.

    Raises:
        ValueError: they are not whole numbers.
    """
    if found[2] is None:
        return list(map(int, found[1].split(b",")))
    packed: list[int] = unpacked(found[2], DURATIONS).tolist()
    return packed


def _losses(text: bytes, *, packed: bool, most: int | None) -> list[float]:
    """The losses of a record, or the `most` first of them.

    Raises:
        ValueError: they are not numbers.
    """
    if packed:
        # 32 characters are three numbers.
        end = None if most is None else 32 * -(-most // 3)
        losses: list[float] = unpacked(text[:end], LOSSES)[:most].tolist()
        return losses
    return _numbers(text if most is None else b",".join(text.split(b",", most)[:most]))


def _numbers(text: bytes) -> list[float]:
    """Numbers with commas between them, to 14 digits or more; NaN for `null`.

    Raises:
        ValueError: they are not.
    """
    if b"e" in text or b"n" in text:
        return list(map(float, text.replace(b"null", b"nan").split(b",")))
    return [float(number[:EXACT_DIGITS]) for number in text.replace(b" ", b"").split(b",")]

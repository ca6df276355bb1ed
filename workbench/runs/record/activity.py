"""The current state of a run, derived from its events."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal, NamedTuple

from workbench.run_folder.events import Event, EventReader

Status = Literal[
    "starting",
    "running",
    "paused",
    "completed",
    "stopped",
    "interrupted",
    "failed",
    "unreadable",
]
"""Status of a run.

`interrupted`: the process that started it exited, or the worker was sent SIGTERM or SIGHUP;
`unreadable`: its summary is corrupt.
"""


ENDED: frozenset[Status] = frozenset(
    {"completed", "stopped", "interrupted", "failed", "unreadable"}
)


class Progress(NamedTuple):
    """Progress of a run, in optimizer steps."""

    done_steps: int
    total_steps: int


class Activity:
    """The state of a run after its events so far; thread-safe."""

    def __init__(self, events_path: Path) -> None:
        self._events = EventReader(events_path)
        # A waiting cell, a comparison and a widget may read the same run.
        self._lock = threading.Lock()
        self.state: Status = "starting"
        self.phase = "starting the worker"
        """Progress of the start-up, as a short text."""
        self.worker_pid: int | None = None
        """Process id of its last worker, which may have ended."""
        self.done_steps = 0
        self.waits_after_step = -1
        """The last granted step, if the worker is waiting for more."""
        self.answered_saves = 0
        """Number of the last request for a checkpoint that the worker has answered."""
        self.save_refused_step: int | None = None
        """The step of the last request, if a weight was not finite then."""
        self.first_step_time: float | None = None
        """End of the first step, in seconds since the epoch."""
        self.paused_before_s = 0.0
        """Seconds of pauses before the first step."""
        self._paused_at: float | None = None
        self.was_paused = False

    @property
    def skipped_events(self) -> int:
        """Number of lines that are not valid events, or whose steps were recorded before."""
        return self._events.skipped

    @property
    def missing_steps(self) -> int:
        """Number of steps before the last one that no line records."""
        return self._events.missing_steps

    def now(self) -> Activity:
        """Apply new events and return this object."""
        with self._lock:
            for event in self._events.poll():
                self._apply(event)
        return self

    def _apply(self, event: Event) -> None:
        match event["event"]:
            case "resuming":
                self.state, self.phase = "starting", "starting the worker"
                self.waits_after_step, self.first_step_time = -1, None
                self.paused_before_s, self._paused_at = 0.0, None
                self.done_steps, self.answered_saves = event["step"], 0
            case "restored":
                self.done_steps = event["step"]
            case "saved":
                self.answered_saves = event["request"]
                self.save_refused_step = None if event.get("finite", True) else event["step"]
            case "started":
                self.worker_pid = event["pid"]
            case "phase":
                self.phase = event["text"]
            case "built" | "resumed":
                self.state = "running"
                if self._paused_at is not None and self.first_step_time is None:
                    self.paused_before_s += event["time"] - self._paused_at
                self._paused_at = None
            case "paused":
                self.state, self._paused_at = "paused", event["time"]
                self.was_paused = True
            case "waiting":
                self.waits_after_step = event["step"]
            case "steps":
                self.done_steps = event["first_step"] + len(event["losses"]) - 1
                # The first step is recorded without delay.
                self.first_step_time = self.first_step_time or event["time"]

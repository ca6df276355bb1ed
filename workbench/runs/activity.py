"""What a run is doing, as far as its events tell."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal

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
"""Where a run is in its life.

`interrupted`: the process that started it went away; `unreadable`: its summary is damaged.
"""


class Activity:
    """The state of a run after the events so far. Any number of threads may look at it."""

    def __init__(self, events_path: Path) -> None:
        self._events = EventReader(events_path)
        # A cell that waits, a lock step and a page may all look at one run.
        self._reading = threading.Lock()
        self.state: Status = "starting"
        self.phase = "starting the worker"
        """What a starting worker is doing, in a few words."""
        self.done_steps = 0
        self.waits_after_step = -1
        """The last step granted, if the worker does nothing until it is granted more."""
        self.first_step_time: float | None = None
        """Seconds since the epoch at the end of the first step."""

    @property
    def skipped_events(self) -> int:
        """Lines that hold no event as the workbench writes it."""
        return self._events.skipped

    def now(self) -> Activity:
        """This, after the events that have come since the last look."""
        with self._reading:
            for event in self._events.poll():
                self._take_in(event)
        return self

    def _take_in(self, event: Event) -> None:
        match event["event"]:
            case "phase":
                self.phase = event["text"]
            case "built" | "resumed":
                self.state = "running"
            case "paused":
                self.state = "paused"
            case "waiting":
                self.waits_after_step = event["step"]
            case "steps":
                self.done_steps = event["first_step"] + len(event["losses"]) - 1
                # The first step is written as soon as it is done.
                self.first_step_time = self.first_step_time or event["time"]

"""The fake engine's own account of a run, by clocks of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Deed(NamedTuple):
    """One line of the event_log; see `Behaviour.event_log`."""

    what: str
    began: float
    began_ns: int
    rss_bytes: int
    batch: int
    ended_ns: int
    ended: float


class EventLog(list[Deed]):
    """All that the engine did, in order."""

    @classmethod
    def read(cls, path: Path) -> EventLog:
        return cls(Deed(**json.loads(line)) for line in path.read_text().splitlines())

    def of(self, *what: str) -> list[Deed]:
        return [deed for deed in self if deed.what in what]

    def shortest_s(self) -> list[float]:
        """For each step what the engine itself spent in it: no record of it can be shorter."""
        return [(step.ended_ns - step.began_ns) * 1e-9 for step in self.of("step")]

    def longest_s(self) -> list[float]:
        """For each step the time from the end of what was done before to the begin of what is next.

        No record of the step can be longer, however busy the machine is.
        """
        deeds = [deed for deed in self if deed.what != "transient"]  # is within a step
        return [
            (after.began_ns - before.ended_ns) * 1e-9
            for before, step, after in zip(deeds, deeds[1:], deeds[2:], strict=False)
            if step.what == "step"
        ]

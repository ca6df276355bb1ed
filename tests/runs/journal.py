"""The fake engine's own account of a run, by clocks of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Call(NamedTuple):
    """One line of the journal; see `Behaviour.journal`."""

    call: str
    started_ns: int
    ended_ns: int
    started: float
    ended: float
    rss_bytes: int
    batch: int


class Journal(list[Call]):
    """Every call, in order."""

    @classmethod
    def read(cls, path: Path) -> Journal:
        return cls(Call(**json.loads(line)) for line in path.read_text().splitlines())

    def of(self, call: str) -> list[Call]:
        return [entry for entry in self if entry.call == call]

    def shortest_s(self) -> list[float]:
        """For each step what the engine itself spent in it: no record of it can be shorter."""
        return [(step.ended_ns - step.started_ns) * 1e-9 for step in self.of("train_step")]

    def longest_s(self) -> list[float]:
        """For each step the time from the call before it to the call after it.

        No record of the step can be longer, however busy the machine is. The last step is left out.
        """
        calls = [entry for entry in self if entry.call != "transient"]  # is within a step
        return [
            (after.started_ns - before.ended_ns) * 1e-9
            for before, step, after in zip(calls, calls[1:], calls[2:], strict=False)
            if step.call == "train_step"
        ]

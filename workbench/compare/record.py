"""The record of a comparison: one JSON file that names its runs and what disturbed them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.compare.lockstep import Plan
from workbench.machine_load import Load
from workbench.run_folder import home, time_stamp, write_json


class ComparisonRecord:
    """Written anew after each start of a run and after each round."""

    def __init__(self, plan: Plan, engines: list[str]) -> None:
        self.path = comparisons_folder() / f"{time_stamp()}.json"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.loads: list[Load | None] = []
        self._runs: dict[str, str] = {}
        self._content = {"plan": plan._asdict(), "engines": engines, "runs": self._runs}

    @property
    def id(self) -> str:
        return self.path.stem

    def add_run(self, engine: str, run_id: str) -> None:
        self._runs[engine] = run_id
        self._write()

    def add_load(self, load: Load | None) -> None:
        """What other programs took in the round that has ended; None where that is not known."""
        self.loads.append(load)
        self._write()

    def _write(self) -> None:
        loads = [load and load._asdict() for load in self.loads]
        write_json(self.path, {**self._content, "loads": loads})


def comparisons_folder() -> Path:
    return home() / "comparisons"


def loads_of(record: dict[str, Any]) -> list[Load | None]:
    """The load in each round; empty of a comparison that was recorded before loads were."""
    return [None if load is None else Load(**load) for load in record.get("loads", [])]

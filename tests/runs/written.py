"""Run folders written by hand: what readers make of a record that is known to the last digit."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from workbench.run_folder.events import Event
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run
from workbench.settings.config import make_config

LAUNCHED = 1000.0
DONE = {"status": "completed", "ended": LAUNCHED + 5}
"""The summary of a run that is done."""
MACHINE = {
    "processor": "a processor", "cores": 2, "memory_bytes": 8_000_000_000,
    "system": "Linux", "python": "3.11",
}  # fmt: skip


def write_run(
    label: str, events: list[Event], summary: dict[str, Any] | None = None, **settings: Any
) -> Run:
    """A run folder with a spec of `settings`, 30 training rows, `events` and, if any, `summary`."""
    config = make_config({"engine": "fake", "threads": 1, "batch_size": 10, **settings})
    folder = RunFolder.create(label)
    folder.write_spec(
        {
            "config": config.model_dump(),
            "model": f"model-{label}",
            "dataset": "rows",
            "samples": 30,
            "machine": MACHINE,
            "versions": {},
            "launched": LAUNCHED,
        }
    )
    append(folder.events_path, events)
    if summary is None:
        _hold(folder)
    else:
        folder.write_summary({"engine": config.engine, "error": None, **summary})
    return Run(folder)


def _hold(folder: RunFolder) -> None:
    """Lock the folder until this process ends, as what looks after a run in progress does."""
    descriptor = os.open(folder.path / "watchdog.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def append(path: Path, events: list[Event]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({"time": LAUNCHED + 100, **event}) + "\n" for event in events)


def steps(
    first_step: int, seconds: list[float], losses: list[float | None] | None = None, **fields: Any
) -> Event:
    """An event of steps in a row, of ten samples each and three steps an epoch."""
    return {
        "event": "steps",
        "first_step": first_step,
        "losses": losses or [1.0] * len(seconds),
        "nanoseconds": [round(value * 1e9) for value in seconds],
        "batch_size": 10,
        "steps_per_epoch": 3,
        "rss_bytes": 5_000_000,
        **fields,
    }

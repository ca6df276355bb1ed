"""Runs of the fake engine that misbehave, started here or in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests.processes import until
from workbench.runs import Run, load_run

Misbehave = Callable[..., Run]
"""Starts a run of the fake engine: settings, then what it does wrong as keywords."""


class Launched(NamedTuple):
    """A run and the process that started it."""

    parent: subprocess.Popen[str]
    run: Run
    worker: int


def worker_of(run: Run) -> int:
    """The process of the worker of `run`, once there is one."""

    def started() -> list[int]:
        return [event["pid"] for event in run.follow().poll().events if event["event"] == "started"]

    until(lambda: bool(started()))
    return started()[0]


def watchdog_of(run: Run) -> int:
    """The process that looks after the worker of `run`."""
    return psutil.Process(worker_of(run)).ppid()


def launched_elsewhere(data: Path, *, steps: int, detached: bool, **behaviour: Any) -> Launched:
    """Start a run in a process that then does nothing; returns when its worker has started.

    Args:
        data: folder of a saved dataset.
        steps: of the run.
        detached: as of `train`.
        **behaviour: of the fake engine.
    """
    script = (
        "import workbench as wb, time\n"
        "from workbench.data import load_saved_dataset\n"
        f"data = load_saved_dataset({str(data)!r})\n"
        f"run = wb.train('digits-mlp', data, engine='fake', steps={steps}, detached={detached})\n"
        "while not any(e['event'] == 'started' for e in run.follow().poll().events):\n"
        "    time.sleep(0.01)\n"
        "print(run.id, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "WORKBENCH_FAKE": json.dumps(behaviour)},
    )
    assert parent.stdout is not None
    run_id = parent.stdout.readline().strip()
    parent.stdout.close()
    run = load_run(run_id)
    return Launched(parent, run, worker_of(run))

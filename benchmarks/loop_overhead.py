"""The worker's loop over a bare loop of the same engine, with and without a watcher.

Three conditions take bursts of steps in turn, one at a time: a bare loop in a process of its own;
the worker, which records events and samples memory; the worker while a live `Workbench` in a
notebook kernel follows its run.
Whoever is not measured is held by a signal.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import workbench as wb
from benchmarks.result import Result
from benchmarks.watcher import Watcher
from workbench.compare.statistics import ratio
from workbench.config import make_config
from workbench.control import grant
from workbench.events import Event, EventReader
from workbench.runs import Run
from workbench.runs.launch import launch

ENGINES = ("ondevice", "pytorch")
BURST_S = 0.6
POLL_S = 0.05
REST_S = 0.15
"""Before a burst: longer than the recorder gathers, so that its first record is of one step."""
WARMUP_STEPS = 500
ROUNDS, QUICK_ROUNDS = 30, 4
MODEL = "digits-mlp"


def measure(quick: bool) -> list[Result]:
    return [result for engine in ENGINES for result in measure_engine(engine, quick)]


def measure_engine(engine: str, quick: bool) -> list[Result]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with tempfile.TemporaryDirectory() as artifacts:
        worker = Worker(engine)
        bare = Bare(worker.run, artifacts)
        try:
            with held(worker.pid):
                bare.seconds(WARMUP_STEPS)
                burst = int(BURST_S * WARMUP_STEPS / bare.seconds(WARMUP_STEPS))
            with Watcher() as watcher:
                seconds = np.array([one_round(bare, worker, watcher, burst) for _ in range(rounds)])
        finally:
            bare.close()
            worker.close()
    conditions = (("worker loop", 1, 1.03), ("worker loop with the live widget", 2, 1.05))
    results = []
    for name, column, aim in conditions:
        found = ratio(seconds[:, column], seconds[:, 0])
        results.append(
            Result(
                what=f"{name} over bare loop, `{engine}`, {MODEL}",
                value=found.median,
                low=found.low,
                high=found.high,
                spread=f"95 % interval over {rounds} rounds of {burst} steps",
                unit="",
                aim=aim,
                note=f"bare step {1e6 * float(np.median(seconds[:, 0])) / (burst - 1):.0f} µs",
            )
        )
    return results


def one_round(
    bare: Bare, worker: Worker, watcher: Watcher, burst: int
) -> tuple[float, float, float]:
    """Seconds of all but the first step of a burst: bare, worker alone, worker watched."""
    with held(worker.pid):
        alone = bare.seconds(burst)
    unwatched = worker.seconds(burst)
    with watcher.watching(worker.run):
        return alone, unwatched, worker.seconds(burst)


@contextmanager
def held(pid: int) -> Iterator[None]:
    """Hold a process still meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


class Bare:
    """The bare loop in its process, which blocks when it has nothing to do."""

    def __init__(self, run: Run, artifacts: str) -> None:
        command = [sys.executable, "-m", "benchmarks.bare_loop", str(run.folder.path), artifacts]
        environment = {**os.environ, "OMP_NUM_THREADS": str(run.config.threads)}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            # A session of its own as workers have: the scheduler shares the machine by session.
            start_new_session=True,
        )
        while self._answer() != "ready":
            pass

    def seconds(self, steps: int) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"The bare loop ended with status {self._process.wait()}.")
        return line.strip()


class Worker:
    """A run whose worker takes as many steps as it is granted."""

    def __init__(self, engine: str) -> None:
        model = wb.load_model(MODEL)
        config = make_config(
            {**model.defaults, "engine": engine, "steps": 10**9, "evaluate": False}
        )
        folder, process = launch(model, wb.load_dataset("digits"), config, granted_steps=0)
        self.run = Run(folder, worker=process, model=model)
        self.pid = process.pid
        self._granted = 0
        self._expected_s = 0.0
        self._events = EventReader(folder.events_path)
        self.seconds(WARMUP_STEPS)

    def seconds(self, steps: int) -> float:
        """Seconds between the records of the first and of the last step of a burst."""
        time.sleep(REST_S)
        self._events.poll()
        self._granted += steps
        grant(self.run.folder.control_path, self._granted)
        # The times are in the records; looking for them earlier would take a core from the engine.
        time.sleep(self._expected_s)
        records: list[Event] = []
        while not records or last_step(records[-1]) < self._granted:
            time.sleep(POLL_S)
            records += [event for event in self._events.poll() if event["event"] == "steps"]
            if self.run.ended:
                raise RuntimeError(f"The worker ended: {self.run.error}")
        seconds = records[-1]["time"] - records[0]["time"]
        self._expected_s = 1.1 * seconds
        return float(seconds * (steps - 1) / (self._granted - last_step(records[0])))

    def close(self) -> None:
        self.run.stop()
        self.run.wait(30)


def last_step(record: Event) -> int:
    return int(record["first_step"]) + len(record["losses"]) - 1

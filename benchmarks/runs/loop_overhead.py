"""The worker's loop over a bare loop of the same engine, with and without a live page.

One process holds the engine and takes bursts in turn: a bare loop; the worker's loop, which records
events, samples memory and keeps checkpoints; the worker's loop while a live `Workbench` in a
notebook kernel follows the run. The kernel is held while the bare loop runs. It takes in what it
missed in a burst that does not count, and those that count are as long as the longest time between
two of its updates.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import TracebackType

import numpy as np

import workbench as wb
from benchmarks.page.watcher import Watcher
from benchmarks.result import Result
from workbench.compare.rounds.statistics import ratio
from workbench.controller.following.update_pace import LONGEST_PERIOD_S
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import load_run
from workbench.runs.launch import worker_environment, write_run_folder
from workbench.settings.config import make_config

ENGINES = ("ondevice", "pytorch")
BURST_S = 0.25
"""A record or two of the worker. Shorter than what else comes and goes on a machine."""
WARMUP_STEPS = 1000
PROCESSES, QUICK_PROCESSES = 4, 1
"""The memory that a process got shifts its figures by a percent or so."""
ROUNDS, QUICK_ROUNDS = 48, 8
WATCHED_ROUNDS, QUICK_WATCHED_ROUNDS = 12, 8
CATCH_UP_S = 0.5
"""Length of a burst in which a page takes in what it missed while it was held."""
MODEL = "digits-mlp"


def measure(quick: bool) -> list[Result]:
    return [result for engine in ENGINES for result in measure_engine(engine, quick)]


def measure_engine(engine: str, quick: bool) -> list[Result]:
    rounds = (QUICK_ROUNDS, QUICK_WATCHED_ROUNDS) if quick else (ROUNDS, WATCHED_ROUNDS)
    processes = QUICK_PROCESSES if quick else PROCESSES
    measured = [measure_process(engine, *rounds) for _ in range(processes)]
    alone, watched = (np.concatenate(parts) for parts in zip(*measured, strict=True))
    conditions = (
        ("worker loop", alone, 1.03),
        ("worker loop with the live widget", watched, 1.05),
    )
    results = []
    for name, seconds, aim in conditions:
        found = ratio(seconds[:, 1], seconds[:, 0])
        results.append(
            Result(
                what=f"{name} over bare loop, `{engine}`, {MODEL}",
                value=found.median,
                low=found.low,
                high=found.high,
                spread=f"95 % interval over {len(seconds)} rounds in {processes} processes",
                unit="",
                aim=aim,
                note=f"bare step {1e6 * float(np.median(seconds[:, 0])):.0f} µs",
            )
        )
    return results


def measure_process(engine: str, rounds: int, watched_rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds a step, bare and of the worker, as `in_turn` gives them: alone, and watched."""
    with Turns(engine) as turns:
        steps_per_s = turns.steps_per_s()
        burst, long_burst, catch_up = (
            int(length_s * steps_per_s) for length_s in (BURST_S, LONGEST_PERIOD_S, CATCH_UP_S)
        )
        turns.seconds("worker", burst)
        alone = in_turn(turns, burst, rounds, lambda: turns.seconds("bare", burst))
        with Watcher() as watcher, watcher.watching(load_run(turns.run_id)):

            def take_bare() -> float:
                with watcher.held():
                    seconds = turns.seconds("bare", long_burst)
                turns.seconds("worker", catch_up)
                return seconds

            return alone, in_turn(turns, long_burst, watched_rounds, take_bare)


def in_turn(turns: Turns, burst: int, rounds: int, take_bare: Callable[[], float]) -> np.ndarray:
    """Seconds a step in each burst, (rounds, 2): of the bare loop, and of the worker's.

    Args:
        turns: whose bursts.
        burst: steps in each.
        rounds: how many; who begins alternates.
        take_bare: takes a burst of the bare loop and returns its seconds.
    """
    seconds = np.empty((rounds, 2))
    for number in range(rounds):
        for column in (0, 1) if number % 2 else (1, 0):
            if column == 0:
                seconds[number, column] = take_bare()
            else:
                seconds[number, column] = turns.seconds("worker", burst)
    return seconds / burst


class Turns:
    """The process that holds the engine; use as a context manager."""

    def __init__(self, engine: str) -> None:
        model = wb.load_model(MODEL)
        config = make_config(
            {**model.defaults, "engine": engine, "steps": 10**9, "evaluate": False}
        )
        folder = RunFolder.create("loop-overhead")
        write_run_folder(folder, model, wb.load_dataset("digits"), config, granted_steps=0)
        self.run_id = folder.id
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.runs.loop_turns", str(folder.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=worker_environment(config, model.code),
            # A session of its own as workers have: the scheduler shares the machine by session.
            start_new_session=True,
        )
        while self._answer() != "ready":
            pass

    def seconds(self, loop: str, steps: int) -> float:
        """How long a burst took; `loop` is `bare` or `worker`."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{loop} {steps}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def steps_per_s(self) -> float:
        """Of the bare loop, without the first steps, in which an engine may compile."""
        self.seconds("bare", WARMUP_STEPS)
        return WARMUP_STEPS / self.seconds("bare", WARMUP_STEPS)

    def __enter__(self) -> Turns:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"The process ended with status {self._process.wait()}.")
        return line.strip()

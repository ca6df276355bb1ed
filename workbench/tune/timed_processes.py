"""Processes that take turns of some steps, so that other load affects all of them alike."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from workbench.child_process.cancellation import check_cancelled, ended_if_cancelled
from workbench.child_process.child import as_error, command, exit_sentence, parse_message
from workbench.child_process.watchdog import Watch
from workbench.errors import EngineError
from workbench.machine.load import Load, LoadMeter
from workbench.profiling.request import ProfilingRequest
from workbench.settings.config import TrainingConfig
from workbench.tune.turns import FEWEST_STEPS

IDLE = "idle"
"""The phase of a process that waits for its next turn."""

MOST_ROUNDS, FEWEST_ROUNDS = 21, 7
BUDGET_S = 20.0
"""Time limit of the rounds, unless they are the fewest."""

Report = Callable[[str], None]


def rounds_of(seconds: Mapping[str, list[float]]) -> dict[str, np.ndarray]:
    """(rounds,) seconds of a step of each variant, without the first round, which warmed up."""
    return {name: np.asarray(turns[1:]) for name, turns in seconds.items()}


class TimedProcesses:
    """The processes of the variants of one engine; all end with it."""

    def __init__(self, folder: Path) -> None:
        """Create it without a process.

        Args:
            folder: contains `model` and `data`, as written by their `save`.
        """
        self._folder = folder
        self._processes: dict[str, _Process] = {}

    def __enter__(self) -> TimedProcesses:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._processes.values():
            process.close()

    def start(
        self, name: str, config: TrainingConfig, environment: Mapping[str, str], report: Report
    ) -> None:
        """Start a variant and wait until it has taken its first steps.

        Raises:
            WorkbenchError: it cannot be built.
        """
        work = self._folder / name
        work.mkdir()
        request = ProfilingRequest(
            self._folder / "model", self._folder / "data", config, FEWEST_STEPS, work
        )
        self._processes[name] = _Process(request, environment)
        self._processes[name].wait(report)

    def measure(self, report: Report) -> Load | None:
        """Run each in turn, round after round; the first alternates.

        Returns:
            Load of other programs meanwhile; None: not known.
        """
        started = time.perf_counter()
        self._round(0)
        once_s = time.perf_counter() - started
        rounds = int(min(MOST_ROUNDS, max(FEWEST_ROUNDS, BUDGET_S / once_s)))
        meter = LoadMeter(lambda: [each.pid for each in self._processes.values()])
        meter.start()
        for number in range(1, rounds + 1):
            report(f"round {number} of {rounds}")
            self._round(number)
        meter.stop()
        return meter.take()

    def _round(self, number: int) -> None:
        for process in list(self._processes.values())[:: 1 if number % 2 else -1]:
            process.turn()

    def finish(self) -> dict[str, list[float]]:
        """End the processes; the seconds of a step in each turn of each."""
        return {name: process.finish() for name, process in self._processes.items()}


class _Process:
    """One variant, which waits for its turns."""

    def __init__(self, request: ProfilingRequest, environment: Mapping[str, str]) -> None:
        self._request = request
        path = request.work / "request.json"
        request.write(path)
        watch = Watch([*command("workbench.tune"), str(path)], parent=os.getpid())
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 -- as long as the process
        self._child = subprocess.Popen(
            watch.arguments(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=dict(environment),
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Process id of the watchdog, whose child trains."""
        return self._child.pid

    def turn(self) -> None:
        """Take some steps.

        Raises:
            WorkbenchError: a step failed.
        """
        assert self._child.stdin is not None
        try:
            self._child.stdin.write("\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: its last message or the log has the reason
        self.wait(lambda _: None)

    def wait(self, report: Report) -> None:
        """Wait until it is idle.

        Raises:
            WorkbenchError: it has ended; the error states why.
        """
        last = self._follow(report)
        if last is not None:
            raise self._failure(last)

    def finish(self) -> list[float]:
        """End it, and read the seconds of a step in each turn."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        last = self._follow(lambda _: None)
        if last is None or "done" not in last or self._child.wait() != 0:
            raise self._failure(last or {})
        answer = json.loads(self._request.answer_path.read_text(encoding="utf-8"))
        return [float(each) for each in answer["turns_s"]]

    def _follow(self, report: Report) -> dict[str, Any] | None:
        """Report phases until it is idle (None), or ends: its last message.

        Raises:
            CancelledError: see `Cancellation`.
        """
        with ended_if_cancelled(self._child.terminate):
            found = self._read(report)
        check_cancelled()
        return found

    def _read(self, report: Report) -> dict[str, Any] | None:
        assert self._child.stdout is not None
        last: dict[str, Any] = {}
        for line in self._child.stdout:
            message = parse_message(line) or {}
            if message.get("phase") == IDLE:
                return None
            if "phase" in message:
                report(message["phase"])
            else:
                last = message or last
        return last

    def _failure(self, last: Mapping[str, Any]) -> Exception:
        if "error" in last:
            return as_error(last["error"], EngineError)
        work = f"times {self._request.work.name} of {self._request.config.engine}"
        return EngineError(exit_sentence(self._child.wait(), work, self._log))

    def close(self) -> None:
        """Terminate it and close its pipes."""
        if self._child.poll() is None:
            self._child.terminate()
        # Data that was not sent to a process that has ended cannot be flushed.
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue
        self._child.wait()
        self._log.close()

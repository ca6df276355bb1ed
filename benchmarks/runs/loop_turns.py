"""One engine in one process, driven in turn by the worker's loop and by a bare loop.

`python -m benchmarks.runs.loop_turns RUN_FOLDER` builds the engine of the run as a worker does.
Then each line on stdin, `bare STEPS` or `worker STEPS`, is a burst to take; the answer is its
seconds. Both loops share the engine, its memory and its place in the machine: what differs is the
loop.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from typing_extensions import override

from workbench.data import Batch, Split, load_saved_dataset
from workbench.engines import engine_class
from workbench.engines.base import Engine, EngineSetup
from workbench.files.advisory_lock import acquire_lock
from workbench.run_folder.control import grant, request_state
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress
from workbench.settings.config import make_config
from workbench.worker.control import Control
from workbench.worker.loop import TrainingLoop
from workbench.worker.memory import rss_bytes


class Turns(Control):
    """A worker's control that is granted bursts, and takes the bare ones itself between them."""

    def __init__(self, path: Path, engine: Engine, batches: Iterator[Batch]) -> None:
        super().__init__(path)
        self._path = path
        self._engine = engine
        self._batches = batches
        self._granted = 0
        self._burst_started: float | None = None

    @override
    def wait(self) -> None:
        """The worker's loop has taken its burst: answer, and continue with what is asked next."""
        if self._burst_started is not None:
            print(time.perf_counter() - self._burst_started, flush=True)
        while True:
            line = sys.stdin.readline()
            if not line:
                request_state(self._path, "stop")
                return
            loop, steps = line.split()
            if loop == "worker":
                break
            self._take_bare(int(steps))
        self._granted += int(steps)
        grant(self._path, self._granted)
        self._burst_started = time.perf_counter()

    def _take_bare(self, steps: int) -> None:
        started = time.perf_counter()
        for batch in islice(self._batches, steps):
            loss = self._engine.train_step(batch)
            if not math.isfinite(loss):
                raise ArithmeticError(f"The loss is {loss}.")
        print(time.perf_counter() - started, flush=True)


def main() -> None:
    folder = RunFolder(Path(sys.argv[1]))
    # Held until the process ends, as by a watchdog: a page does not follow a run that seems lost.
    acquire_lock(folder.watchdog_lock_path)
    config = make_config(folder.read_spec()["config"])
    dataset = load_saved_dataset(folder.data_path)
    events = EventWriter(folder.events_path)
    events.write("started", pid=os.getpid(), engine=config.engine)
    rss_before_bytes = rss_bytes()
    engine = engine_class(config.engine)(
        EngineSetup(folder.model_path, folder.artifacts_path, config, report=lambda _: None)
    )
    events.write("built", rss_before_bytes=rss_before_bytes)
    turns = Turns(folder.control_path, engine, endless(dataset.train, config.batch_size))
    print("ready", flush=True)
    TrainingLoop(folder, engine, dataset, config, turns, events, TrainingProgress()).run()


def endless(train_split: Split, batch_size: int) -> Iterator[Batch]:
    """Batches for ever, shuffled again each epoch."""
    epoch = 0
    while True:
        epoch += 1
        yield from train_split.batches(batch_size, 0, epoch)


if __name__ == "__main__":
    main()

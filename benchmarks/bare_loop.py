"""A bare training loop: the engine of a run and its batches, with no record and no control.

`python -m benchmarks.bare_loop RUN_FOLDER ARTIFACTS_FOLDER` builds the engine that the spec of the
run names. Then each line on stdin is a number of steps to take; the answer is the seconds that all
but the first took.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from workbench.config import TrainingConfig
from workbench.data import Batch, Split, load_saved_dataset
from workbench.engines import engine_class
from workbench.engines.base import EngineSetup
from workbench.run_folder import RunFolder


def main() -> None:
    folder, artifacts = RunFolder(Path(sys.argv[1])), Path(sys.argv[2])
    config = TrainingConfig(**folder.read_spec()["config"])
    train = load_saved_dataset(folder.data_path).train
    setup = EngineSetup(folder.model_path, artifacts, config, report=lambda _: None)
    engine = engine_class(config.engine)(setup)
    batches = endless(train, config)
    print("ready", flush=True)
    for line in sys.stdin:
        engine.train_step(next(batches))
        started = time.perf_counter()
        for _ in range(int(line) - 1):
            engine.train_step(next(batches))
        print(time.perf_counter() - started, flush=True)


def endless(train: Split, config: TrainingConfig) -> Iterator[Batch]:
    epoch = 0
    while True:
        epoch += 1
        yield from train.batches(config.batch_size, config.seed, epoch)


if __name__ == "__main__":
    main()

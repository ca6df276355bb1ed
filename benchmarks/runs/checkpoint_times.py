"""Times of the checkpoint of one perceptron: `python -m benchmarks.runs.checkpoint_times WIDTH`.

Prints its parameters, the bytes of the checkpoint and the seconds of each repetition: to write it
as a worker does; to verify its hashes; and to build the engine from it, and without one.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from workbench.data.target_specs import target_specs
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice.engine import OnDeviceEngine
from workbench.run_folder.checkpoint import read_progress, write_checkpoint
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress
from workbench.settings.config import TrainingConfig

REPEATS = 7


def main() -> None:
    import torch

    width = int(sys.argv[1])
    layers = [(64, width), (width, width), (width, 10)]
    linear = [torch.nn.Linear(*sizes) for sizes in layers]
    module = torch.nn.Sequential(linear[0], torch.nn.ReLU(), linear[1], torch.nn.ReLU(), linear[2])
    model = wb.load_model(module, example_inputs=np.zeros((2, 64), np.float32))
    random = np.random.default_rng(0)
    rows = random.normal(size=(64, 64)).astype(np.float32)
    data = wb.load_dataset(rows, random.integers(0, 10, 64))
    config = TrainingConfig(batch_size=8, threads=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkpoint = RunFolder(folder).checkpoint_path(1)
        wb.generate_artifacts(model, data=data, directory=folder / "artifacts")

        def build(checkpoint: Path | None) -> OnDeviceEngine:
            targets = target_specs(data.train.targets)
            return OnDeviceEngine(
                EngineSetup(
                    folder, folder / "artifacts", config, lambda _: None, targets, checkpoint
                )
            )

        engine = build(None)
        engine.train_step(next(data.train.batches(8, 0, 1)))

        def save() -> None:
            write_checkpoint(
                checkpoint,
                engine.weights(),
                engine.save_state,
                TrainingProgress(step=1),
                "ondevice",
            )

        seconds = {
            "save": timed(save),
            "verify": timed(lambda: read_progress(checkpoint, "ondevice")),
            "load the engine from it": timed(lambda: build(checkpoint)),
            "load the engine without one": timed(lambda: build(None)),
        }
        size = sum(file.stat().st_size for file in checkpoint.iterdir())
    print(json.dumps({"parameters": model.parameter_count, "bytes": size, "seconds": seconds}))


def timed(work: Callable[[], Any]) -> list[float]:
    """Seconds of each of `REPEATS` calls, after one that is not counted."""
    seconds = []
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return seconds[1:]


if __name__ == "__main__":
    main()

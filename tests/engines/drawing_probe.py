"""Trains a module that draws, from its start and from a checkpoint; run as a script.

python -m tests.engines.drawing_probe ENGINE MODEL_FOLDER WORK_FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from workbench.data import Batch
from workbench.engines import engine_class
from workbench.engines.base import Engine, EngineSetup
from workbench.run_folder.checkpoint import write_checkpoint
from workbench.settings.config import make_config

STEPS, SAVED_AFTER = 6, 3
KINDS = 6


def batches() -> list[Batch]:
    random = np.random.default_rng(0)
    inputs = random.normal(size=(STEPS, 4, 8)).astype(np.float32)
    targets = np.zeros((4, KINDS, 8), np.float32)
    return [Batch((rows,), targets) for rows in inputs]


def main() -> None:
    name, model, work = sys.argv[1], *map(Path, sys.argv[2:])
    config = make_config({"engine": name, "loss": "mse", "batch_size": 4, "threads": 1, "seed": 3})

    def built(checkpoint: Path | None = None) -> Engine:
        setup = EngineSetup(
            model, work / "artifacts", config, lambda _: None, checkpoint=checkpoint
        )
        return engine_class(name)(setup)

    def trained(engine: Engine, steps: list[Batch]) -> dict[str, Any]:
        return {
            "losses": [engine.train_step(batch) for batch in steps],
            "evaluation": engine.evaluate(batches()[0]).output.tolist(),
            "steps": int(engine.weights()["steps"]),
        }

    engine = built()
    for batch in batches()[:SAVED_AFTER]:
        engine.train_step(batch)
    write_checkpoint(work / "state", engine.weights(), engine.save_state)
    whole = trained(engine, batches()[SAVED_AFTER:])
    resumed = trained(built(work / "state"), batches()[SAVED_AFTER:])
    print(json.dumps({"whole": whole, "resumed": resumed}))


if __name__ == "__main__":
    main()

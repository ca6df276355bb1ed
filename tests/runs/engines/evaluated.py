"""Outputs of a run's engine in evaluation mode; run as a process of its own.

    python -m tests.runs.engines.evaluated RUN_FOLDER EVALUATED.npz

Builds the engine from the run's latest checkpoint and evaluates the first batch of the test split.
Writes the batch's inputs as input_0 etc., and the output that the first loss reads as `output`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from workbench.data import load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines import engine_class
from workbench.engines.base import EngineSetup
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.config import read_config


def main() -> None:
    folder, answer = RunFolder(Path(sys.argv[1])), Path(sys.argv[2])
    config = read_config(folder.read_spec()["config"])
    data = load_saved_dataset(folder.data_path)
    assert data.test is not None
    engine = engine_class(config.engine)(
        EngineSetup(
            folder.model_path,
            folder.artifacts_path,
            config,
            lambda text: None,
            target_specs(data.train.targets),
            folder.checkpoints()[-1],
        )
    )
    batch = next(data.test.in_order(config.batch_size))
    inputs = {f"input_{index}": value for index, value in enumerate(batch.inputs)}
    np.savez(answer, output=engine.evaluate(batch).output, **inputs)


if __name__ == "__main__":
    main()

"""Trains from a full and from a nominal checkpoint; run as a process of its own.

    python -m tests.artifacts.nominal_probe ARTIFACTS WORK

WORK holds parameters.npy, the buffer of all parameters. Answers go to answers.json and
buffers.npz. This process never imports torch or onnx.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from workbench.artifacts import Artifacts
from workbench.errors import EngineError
from workbench.ort.ondevice.ondevice import TrainingSession

STEPS, ROWS = 12, 16
STRIDE = 997
"""Bytes between the lengths at which a checkpoint is cut off."""


def session(artifacts: Artifacts, checkpoint: Path) -> TrainingSession:
    return TrainingSession(
        checkpoint=checkpoint,
        training_model=artifacts.training_model,
        eval_model=artifacts.eval_model,
        optimizer_model=artifacts.optimizer_model,
        threads=1,
        seed=0,
    )


def losses(training: TrainingSession) -> list[float]:
    random = np.random.default_rng(0)
    return [
        training.train_step(
            [
                random.standard_normal((ROWS, 1, 8, 8)).astype(np.float32),
                random.integers(0, 10, ROWS),
            ]
        )
        for _ in range(STEPS)
    ]


def message(call: Callable[[], object]) -> str:
    """The error that `call` raises."""
    try:
        call()
    except EngineError as error:
        return str(error)
    return "no error"


def main() -> None:
    artifacts, work = Artifacts.load(Path(sys.argv[1])), Path(sys.argv[2])
    nominal_path = artifacts.nominal_checkpoint
    assert nominal_path is not None
    parameters = np.load(work / "parameters.npy")
    full, nominal = session(artifacts, artifacts.checkpoint), session(artifacts, nominal_path)
    trainable = full.buffer(trainable_only=True)
    buffers = {"initial": full.buffer(), "initial_trainable": trainable}
    wrong = {
        "short": parameters[:-1],
        "long": np.append(parameters, np.float32(0)),
        "double": parameters.astype(np.float64),
        "matrix": parameters[None],
    }
    answers: dict[str, Any] = {
        name: message(lambda given=value: nominal.load_buffer(given))
        for name, value in wrong.items()
    }
    answers["trainable only"] = message(lambda: nominal.load_buffer(trainable, trainable_only=True))
    nominal.load_buffer(parameters)
    answers["full"], answers["nominal"] = losses(full), losses(nominal)
    buffers["full"], buffers["nominal"] = full.buffer(), nominal.buffer()
    full.load_buffer(trainable, trainable_only=True)
    buffers["trainable put back"] = full.buffer()
    full.save(work / "trained")
    content, cut = (work / "trained").read_bytes(), work / "cut"
    refused = 0
    for length in range(0, len(content), STRIDE):
        cut.write_bytes(content[:length])
        refused += "belong together, or one is corrupt" in message(lambda: session(artifacts, cut))
    answers["cut"] = [refused, len(range(0, len(content), STRIDE))]
    answers["imported"] = [name for name in ("torch", "onnx") if name in sys.modules]
    np.savez(work / "buffers.npz", **buffers)
    (work / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main()

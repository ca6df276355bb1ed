"""Trains from a full and from a nominal checkpoint as scripts do; run as a process of its own.

    python -m tests.artifacts.nominal_probe ARTIFACTS WORK

WORK holds parameters.npy, the buffer of all parameters. Answers go to answers.json and
buffers.npz.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from onnxruntime import OrtValue
from onnxruntime.training.api import CheckpointState, Module, Optimizer

from workbench.artifacts import Artifacts
from workbench.errors import EngineError
from workbench.ort.ondevice.ondevice import TrainingSession

STEPS, ROWS = 12, 16
STRIDE = 997
"""Bytes between the lengths at which a checkpoint is cut off."""


class Script:
    """What a program on a device does with artifacts."""

    def __init__(self, artifacts: Artifacts, checkpoint: Path) -> None:
        self.state = CheckpointState.load_checkpoint(checkpoint)
        self.module = Module(artifacts.training_model, self.state, artifacts.eval_model)
        self.optimizer = Optimizer(artifacts.optimizer_model, self.module)

    def buffer(self, *, trainable_only: bool = False) -> np.ndarray:
        """A copy of the parameters."""
        return np.array(self.module.get_contiguous_parameters(trainable_only).numpy())

    def load_buffer(self, buffer: np.ndarray, *, trainable_only: bool = False) -> None:
        value = OrtValue.ortvalue_from_numpy(np.ascontiguousarray(buffer))
        self.module.copy_buffer_to_parameters(value._ortvalue, trainable_only)

    def losses(self) -> list[float]:
        random = np.random.default_rng(0)
        self.module.train()
        found = []
        for _ in range(STEPS):
            rows = random.standard_normal((ROWS, 1, 8, 8)).astype(np.float32)
            results = self.module(rows, random.integers(0, 10, ROWS))
            found.append(float(results[0] if isinstance(results, tuple) else results))
            self.optimizer.step()
            self.module.lazy_reset_grad()
        return found


def is_refused(artifacts: Artifacts, checkpoint: Path) -> bool:
    """Whether the engine says that the checkpoint is corrupt."""
    try:
        TrainingSession(
            checkpoint=checkpoint,
            training_model=artifacts.training_model,
            eval_model=artifacts.eval_model,
            optimizer_model=artifacts.optimizer_model,
            threads=1,
            seed=0,
        )
    except EngineError as error:
        return "belong together, or one is corrupt" in str(error)
    return False


def main() -> None:
    artifacts, work = Artifacts.load(Path(sys.argv[1])), Path(sys.argv[2])
    nominal_path = artifacts.nominal_checkpoint
    assert nominal_path is not None
    full, nominal = Script(artifacts, artifacts.checkpoint), Script(artifacts, nominal_path)
    trainable = full.buffer(trainable_only=True)
    buffers = {"initial": full.buffer(), "initial_trainable": trainable}
    nominal.load_buffer(np.load(work / "parameters.npy"))
    answers: dict[str, Any] = {"full": full.losses(), "nominal": nominal.losses()}
    buffers["full"], buffers["nominal"] = full.buffer(), nominal.buffer()
    full.load_buffer(trainable, trainable_only=True)
    buffers["trainable put back"] = full.buffer()
    CheckpointState.save_checkpoint(full.state, work / "trained", include_optimizer_state=True)
    content, cut = (work / "trained").read_bytes(), work / "cut"
    refused = 0
    for length in range(0, len(content), STRIDE):
        cut.write_bytes(content[:length])
        refused += is_refused(artifacts, cut)
    answers["cut"] = [refused, len(range(0, len(content), STRIDE))]
    np.savez(work / "buffers.npz", **buffers)
    (work / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main()

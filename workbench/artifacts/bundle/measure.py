"""Trains on the sample of a bundle, as the programs do, for the expected losses."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.artifacts.artifacts_folder import ArtifactsFolder
from workbench.artifacts.bundle.description import STEPS
from workbench.child_process.child import run_child
from workbench.errors import ArtifactsError
from workbench.files.json_file import write_json
from workbench.files.temporary_folder import temporary_folder
from workbench.ort.ondevice.ondevice import TrainingSession

LEARNING_RATES = (1e-3, 1e-2, 1e-1, 1e-4)
"""Tried in this order, until one lowers the loss of the sample."""

CLEAR, LEAST = 0.1, 0.01
"""Relative decrease of the loss: at `CLEAR` no further learning rate is tried; `LEAST` is required,
or a device could not distinguish it from noise."""


class SampleTraining(NamedTuple):
    """Results of training on the sample."""

    learning_rate: float
    loss_before: float
    loss_after: float
    result_shapes: tuple[tuple[int, ...], ...]
    """Shapes of the eval model's outputs."""


def measure_in_child(
    artifacts: ArtifactsFolder, arrays: Sequence[np.ndarray], learning_rate: float | None
) -> SampleTraining:
    """Train on the sample in a child process: native code may crash.

    Args:
        artifacts: artifacts of the bundle.
        arrays: inputs and targets of the sample.
        learning_rate: None: one is found that lowers the loss.

    Raises:
        ArtifactsError: no learning rate lowers the loss.
        EngineError: ONNX Runtime cannot train.
    """
    with temporary_folder() as folder:
        request = folder / "request.json"
        np.savez(folder / "sample.npz", *arrays)
        write_json(
            request,
            {
                "artifacts": str(artifacts.directory.absolute()),
                "learning_rates": [learning_rate] if learning_rate else list(LEARNING_RATES),
                "accumulation": artifacts.manifest.get("gradient_accumulation", 1),
            },
        )
        run_child(
            "workbench.artifacts.bundle",
            request,
            lambda _: None,
            os.environ,
            work="trains on the sample",
            failure=ArtifactsError,
        )
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return SampleTraining(
        result["learning_rate"],
        result["loss_before"],
        result["loss_after"],
        tuple(tuple(shape) for shape in result["result_shapes"]),
    )


def measure(request_path: Path) -> None:
    """The child's side: write result.json beside the request.

    Raises:
        ArtifactsError: no learning rate lowers the loss.
        EngineError: ONNX Runtime cannot train.
    """
    request = json.loads(request_path.read_text(encoding="utf-8"))
    with np.load(request_path.with_name("sample.npz"), allow_pickle=False) as loaded:
        arrays = [loaded[name] for name in loaded.files]
    artifacts = ArtifactsFolder.read(Path(request["artifacts"]))
    best: dict[str, Any] | None = None
    tried: list[str] = []
    for learning_rate in request["learning_rates"]:
        result = _train(artifacts, arrays, learning_rate, request["accumulation"])
        before, after = result["loss_before"], result["loss_after"]
        tried.append(f"{learning_rate:g}: {before:.6g} to {after:.6g}")
        if np.isfinite(after) and after < before - abs(before) * LEAST:
            if best is None or after < best["loss_after"]:
                best = result
            if after < before - abs(before) * CLEAR:
                break
    if best is None:
        raise ArtifactsError(
            f"{STEPS} steps on the sample do not lower its loss (learning rate: loss before to "
            f"after: {'; '.join(tried)}), so no device could check its training with it. Pass the "
            "dataset as data=, or a learning_rate=."
        )
    write_json(request_path.with_name("result.json"), best)


def _train(
    artifacts: ArtifactsFolder, arrays: list[np.ndarray], learning_rate: float, accumulation: int
) -> dict[str, Any]:
    session = TrainingSession(
        checkpoint=artifacts.checkpoint,
        training_model=artifacts.training_model,
        eval_model=artifacts.eval_model,
        optimizer_model=artifacts.optimizer_model,
        threads=1,
        seed=0,
    )
    session.set_learning_rate(learning_rate)
    results = session.eval_results(arrays)
    for _ in range(STEPS):
        for _ in range(accumulation - 1):
            session.accumulate(arrays)
        session.train_step(arrays)
    return {
        "learning_rate": learning_rate,
        "loss_before": float(results[0]),
        "loss_after": float(session.eval_results(arrays)[0]),
        "result_shapes": [list(result.shape) for result in results],
    }

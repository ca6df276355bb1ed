"""Trains with the on-device engine and writes down what came out; run as a process of its own.

    python -m tests.engines.ondevice.engine_probe WORK_FOLDER

WORK_FOLDER holds the saved models "normalized" and "tied"; answers go to answers.json and weights
to normalized.safetensors. This process must never import torch or onnx.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from workbench.artifacts import Artifacts
from workbench.data import Batch
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice.engine import OnDeviceEngine
from workbench.errors import WorkbenchError
from workbench.models import TensorSpec
from workbench.ort.ondevice.ondevice import TrainingSession
from workbench.settings.config import make_config
from workbench.worker.memory import rss_bytes

STEPS = 50
ROWS = 16
SETTINGS = {"learning_rate": 0.01, "batch_size": ROWS, "threads": 1}


def images() -> list[Batch]:
    random = np.random.default_rng(0)
    return [
        Batch(
            (random.normal(1, 2, (ROWS, 1, 8, 8)).astype(np.float32),),
            random.integers(0, 3, ROWS),
        )
        for _ in range(STEPS)
    ]


def tokens() -> Batch:
    random = np.random.default_rng(0)
    return Batch((random.integers(0, 7, (ROWS, 5)),), random.integers(0, 7, (ROWS, 5)))


def build(
    work: Path, name: str, target_shape: tuple[int, ...] | None = None, **settings: Any
) -> OnDeviceEngine:
    config = make_config({**SETTINGS, **settings})
    artifacts = work / f"{name}-artifacts"
    targets = None
    if target_shape is not None:
        targets = (TensorSpec("target", ("batch", *target_shape), "int64"),)
    return OnDeviceEngine(EngineSetup(work / name, artifacts, config, lambda _: None, targets))


def message(call: Callable[[], object]) -> str:
    """The error that `call` raises."""
    try:
        call()
    except WorkbenchError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def normalized(work: Path) -> dict[str, Any]:
    engine = build(work, "normalized", ())
    batches = images()
    losses = [engine.train_step(batch) for batch in batches[: STEPS // 2]]
    half = work / "half"
    half.mkdir()
    engine.save_state(half)
    losses += [engine.train_step(batch) for batch in batches[STEPS // 2 :]]
    save_file(engine.weights(), work / "normalized.safetensors")
    return {
        "losses": losses,
        "resumed": resume(work, half / "ondevice.checkpoint", batches[STEPS // 2 :]),
        "evaluation": engine.evaluate(batches[0]).loss,
        "errors": {
            "other loss": message(lambda: build(work, "normalized", loss="mse")),
            "small batch": message(lambda: build(work, "normalized", batch_size=1)),
            "other target": message(lambda: build(work, "normalized", (4,))),
        },
    }


def memory(work: Path) -> dict[str, int]:
    """Growth of the resident set by a step, then by an evaluated batch, a checkpoint and a step."""
    engine = build(work, "normalized", ())
    random, rows = np.random.default_rng(0), 16384
    pixels = random.normal(1, 2, (rows, 1, 8, 8)).astype(np.float32)
    batch = Batch((pixels,), random.integers(0, 3, rows))
    saved = work / "saved"
    saved.mkdir()
    sizes = [rss_bytes()]
    for take in (
        lambda: engine.train_step(batch),
        lambda: engine.evaluate(batch),
        lambda: engine.save_state(saved),
        lambda: engine.train_step(batch),
    ):
        take()
        sizes.append(rss_bytes())
    names = ("step", "evaluation", "checkpoint", "next step")
    return {
        name: after - before for name, (before, after) in zip(names, pairwise(sizes), strict=True)
    }


def resume(work: Path, checkpoint: Path, batches: list[Batch]) -> list[float]:
    """Losses of a new session that begins where the checkpoint was written."""
    artifacts = Artifacts.load(work / "normalized-artifacts")
    session = TrainingSession(
        checkpoint=checkpoint,
        training_model=artifacts.training_model,
        eval_model=artifacts.eval_model,
        optimizer_model=artifacts.optimizer_model,
        threads=1,
        seed=0,
    )
    session.set_learning_rate(SETTINGS["learning_rate"])
    return [session.train_step([*batch.inputs, batch.target]) for batch in batches]


def tied(work: Path) -> dict[str, Any]:
    engine = build(work, "tied", (5,), loss="cross_entropy")
    batch = tokens()
    before = engine.weights()
    still = build(work, "tied", (5,), learning_rate=1e-30)
    dropped = [still.train_step(batch) for _ in range(3)]
    kept = [still.evaluate(batch).loss for _ in range(3)]
    for _ in range(100):
        engine.train_step(batch)
    after = engine.weights()
    changed = [name for name in after if not np.array_equal(before[name], after[name])]
    engine.load_weights({"head.weight": before["head.weight"] + 1})
    shifted = engine.weights()
    return {
        "names": sorted(after),
        "changed": sorted(changed),
        "tied": bool(np.array_equal(after["head.weight"], after["embedding.weight"])),
        "loaded": bool(np.array_equal(shifted["embedding.weight"], before["embedding.weight"] + 1)),
        "dropped": dropped,
        "kept": kept,
        "output_shape": engine.evaluate(batch).output.shape,
        "unknown": message(lambda: engine.load_weights({"nothing": np.zeros(1)})),
        "misfit": message(lambda: engine.load_weights({"head.weight": np.zeros(1)})),
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    answers: dict[str, Any] = {"normalized": normalized(folder), "tied": tied(folder)}
    answers["memory"] = memory(folder)
    answers["loaded"] = [name for name in ("torch", "onnx", "onnx_ir") if name in sys.modules]
    (folder / "answers.json").write_text(json.dumps(answers))

"""Trains a network whose attention drops probabilities; runs in the process of the probe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from workbench.data import Batch
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice.engine import OnDeviceEngine
from workbench.run_folder.checkpoint import write_checkpoint
from workbench.settings.config import make_config

WORDS, ROWS, LENGTH, STEPS = 11, 16, 6, 8


def dropping(work: Path) -> dict[str, Any]:
    """Losses by seed, threads and where training goes on, and a gradient by differences."""
    drawn = np.random.default_rng(0)
    tokens = drawn.integers(0, WORDS, (STEPS, ROWS, LENGTH))
    batches = [Batch((each,), np.roll(each, 1, 1)) for each in tokens]

    def engine(checkpoint: Path | None = None, **settings: Any) -> OnDeviceEngine:
        config = make_config({"batch_size": ROWS, "loss": "cross_entropy", **settings})
        return OnDeviceEngine(
            EngineSetup(
                work / "model", work / "artifacts", config, lambda _: None, checkpoint=checkpoint
            )
        )

    def losses(made: OnDeviceEngine, first: int = 0, last: int = STEPS) -> list[float]:
        return [made.train_step(batch) for batch in batches[first:last]]

    whole = engine(threads=2)
    answer: dict[str, Any] = {
        "kernels": whole.statistics().graphs[0].kernels,
        "whole": losses(whole),
        "again": losses(engine(threads=2)),
        "one thread": losses(engine(threads=1)),
        "other seed": losses(engine(threads=2, seed=1)),
        "without kernels": losses(engine(threads=2, device_kernels=False)),
    }
    half = engine(threads=2)
    before = losses(half, 0, STEPS // 2)
    checkpoint = work / "checkpoints" / "half"
    write_checkpoint(checkpoint, half.weights(), save_state=half.save_state)
    answer["resumed"] = [*before, *losses(engine(checkpoint, threads=2), STEPS // 2)]
    return {**answer, **_by_differences(engine(threads=1), batches[0])}


def _by_differences(made: OnDeviceEngine, batch: Batch) -> dict[str, float]:
    """The slope of the loss along its gradient, with what is dropped held fixed, and the square of
    the gradient, which it should be."""

    def found(seed: int) -> Any:
        made._session.seed(seed)
        return made.gradients(batch)

    at, other = found(7), found(9000)
    squared = sum(float((value.astype(np.float64) ** 2).sum()) for value in at.gradients.values())
    weights = made.weights()
    step, ends = 0.02 / np.sqrt(squared), []
    for sign in (1, -1):
        moved = {name: weights[name] + sign * step * at.gradients[name] for name in at.gradients}
        made.load_weights(moved)
        ends.append(found(7).loss)
    return {
        "slope": (ends[0] - ends[1]) / (2 * step),
        "squared": squared,
        "other loss": other.loss - at.loss,
    }

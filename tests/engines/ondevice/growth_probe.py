"""Trains where more labels count in each step; run as a process of its own.

    python -m tests.engines.ondevice.growth_probe WORK_FOLDER

WORK_FOLDER holds the saved model "large_vocabulary". Prints by how much the steps after the first
grew the resident set, in multiples of the logits of all labels.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from workbench.data import Batch
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice.engine import OnDeviceEngine
from workbench.models import TensorSpec
from workbench.settings.config import make_config
from workbench.worker.memory import rss_bytes

ROWS, LENGTH, CLASSES, IGNORED = 16, 128, 4096, -100

if __name__ == "__main__":
    work = Path(sys.argv[1])
    config = make_config({"batch_size": ROWS, "threads": 1, "device_kernels": False})
    targets = (TensorSpec("target", ("batch", LENGTH), "int64"),)
    saved, artifacts = work / "large_vocabulary", work / "artifacts"
    engine = OnDeviceEngine(EngineSetup(saved, artifacts, config, lambda _: None, targets))
    checkpoint = work / "checkpoint"
    checkpoint.mkdir()
    engine.save_state(checkpoint)  # as a run does before its first step
    random, sizes = np.random.default_rng(0), []
    for share in np.linspace(0.1, 1, 10):
        tokens, labels = random.integers(0, CLASSES, (2, ROWS, LENGTH))
        labels[random.random(labels.shape) > share] = IGNORED
        engine.train_step(Batch((tokens,), labels))
        sizes.append(rss_bytes())
    print((sizes[-1] - sizes[0]) / (ROWS * LENGTH * CLASSES * 4))

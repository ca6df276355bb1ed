"""When a checkpoint is due, by a clock of the test; and what is in memory while one is written."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.worker.test_loop import Fed
from workbench.run_folder.checkpoint import read_weights
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress
from workbench.settings.config import make_config
from workbench.worker import checkpointer
from workbench.worker.checkpointer import Checkpointer


def test_a_checkpoint_is_due_so_many_seconds_after_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(checkpointer, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    folder = RunFolder(tmp_path)
    events = EventWriter(folder.events_path)
    config = make_config({"engine": "fake", "steps": 100, "checkpoint_every_s": 10})
    keeper = Checkpointer(folder, Fed(), events, config, lambda: None)
    saved = []
    for step in range(1, 12):  # four seconds each
        clock[0] += 4
        keeper.save_if_due(TrainingProgress(step=step), epoch_ended=False)
        if folder.checkpoint_path(step).exists():
            saved.append(step)
    events.close()
    assert saved == [3, 6, 9]


def test_the_copy_of_the_weights_is_gone_while_the_engine_writes_its_own(tmp_path: Path) -> None:
    alive: list[bool] = []

    class Watching(Fed):
        def weights(self) -> dict[str, np.ndarray]:
            value = np.arange(3.0, dtype=np.float32)
            self.copy = weakref.ref(value)
            return {"w": value}

        def save_state(self, folder: Path) -> None:
            alive.append(self.copy() is not None)

    folder = RunFolder(tmp_path)
    events = EventWriter(folder.events_path)
    config = make_config({"engine": "fake", "steps": 1})
    assert Checkpointer(folder, Watching(), events, config, lambda: None).save(
        TrainingProgress(step=1)
    )
    events.close()
    assert alive == [False]
    assert read_weights(folder.checkpoint_path(1))["w"].tolist() == [0, 1, 2]

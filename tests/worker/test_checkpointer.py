"""When a checkpoint is due, by a clock of the test."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.worker.test_loop import Fed
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

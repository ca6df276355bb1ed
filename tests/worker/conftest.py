"""The control of a worker, in the process of the tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.run_folder.control import create_control
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.worker.control import Control


@pytest.fixture
def control_path(tmp_path: Path) -> Path:
    """A control file that grants every step."""
    path = tmp_path / "control.bin"
    create_control(path, None)
    return path


@pytest.fixture
def control(control_path: Path, monkeypatch: pytest.MonkeyPatch) -> Control:
    """Reads `control_path`; signals and forks stay those of the test process."""
    with monkeypatch.context() as patch:
        patch.setattr(signal, "signal", lambda number, handler: None)
        patch.setattr(signal, "set_wakeup_fd", lambda *given, **named: -1)
        patch.setattr(os, "register_at_fork", lambda **functions: None)
        patch.setattr(Control, "_start_signal_thread", lambda self: None)
        return Control(control_path)


@pytest.fixture
def folder() -> RunFolder:
    return RunFolder.create("recording")


@pytest.fixture
def events(folder: RunFolder) -> Iterator[EventWriter]:
    writer = EventWriter(folder.events_path)
    yield writer
    writer.close()

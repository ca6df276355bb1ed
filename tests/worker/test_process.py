"""The record of a worker after an error, and after a stop before its first step."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from workbench.engines.base import EngineSetup
from workbench.errors import EngineError
from workbench.run_folder.control import request_state
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.config import make_config
from workbench.worker.control import Control
from workbench.worker.process import (
    add_step_results,
    describe,
    earlier_evaluation,
    write_early_stop,
)
from workbench.worker.train_run import build_engine


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (EngineError("It is too large."), "It is too large."),
        (ValueError("7"), "ValueError: 7"),
        (ValueError(), "ValueError: ValueError"),
        (
            OSError(errno.ENOSPC, "write"),
            "The disk is full: free some space. Files written before are kept.",
        ),
    ],
)
def test_an_error_is_named_unless_its_message_is_a_sentence(error: Exception, message: str) -> None:
    found = describe(error)
    assert found["message"] == message
    assert found["type"] == type(error).__name__
    assert type(error).__name__ in found["traceback"]


@pytest.mark.parametrize(
    ("interruption", "status", "reason"),
    [("", "stopped", ""), ("a signal", "interrupted", "a signal")],
)
def test_a_stop_before_the_first_step_has_a_whole_summary(
    control: Control,
    control_path: Path,
    tmp_path: Path,
    interruption: str,
    status: str,
    reason: str,
) -> None:
    if interruption:
        control.interruption = interruption
    else:
        request_state(control_path, "stop")
    folder = RunFolder(tmp_path)
    write_early_stop(folder, "fake", control, 7, {"loss": 0.5, "accuracy": None})
    summary = folder.read_summary()
    assert summary is not None
    assert (summary["engine"], summary["status"], summary["reason"]) == ("fake", status, reason)
    assert (summary["steps"], summary["error"]) == (7, None)
    assert summary["evaluation"] == {"loss": 0.5, "accuracy": None}
    assert summary["peak_rss_bytes"] > 0
    assert summary["ended"] > 0


def test_a_log_that_cannot_be_read_does_not_lose_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("of the log")

    folder = RunFolder(tmp_path)
    summary = {"engine": "fake", "status": "failed", "steps": 3}
    folder.write_summary(summary)
    monkeypatch.setattr("workbench.worker.process.StepResults.of", fail)
    spec = {"config": make_config({"engine": "fake", "steps": 3}).model_dump(), "samples": 30}
    add_step_results(folder, spec)
    assert folder.read_summary() == summary
    assert "MemoryError: of the log" in capsys.readouterr().err
    monkeypatch.undo()
    add_step_results(folder, spec)
    assert (folder.read_summary() or {}).items() > summary.items()
    folder.summary_path.unlink()
    add_step_results(folder, spec)
    assert folder.read_summary() is None, "there is no summary of figures alone"


def test_figures_of_before_a_refused_resume_are_kept(tmp_path: Path) -> None:
    """Those of a comparison."""
    folder = RunFolder(tmp_path)
    refused = {"type": "E", "message": "It broke.", "traceback": ""}
    found = {"samples_per_s": 17.5, "resume_error": refused}
    folder.write_summary({"engine": "fake", "status": "completed", "steps": 3, **found})
    before = folder.read_summary()
    spec = {"config": make_config({"engine": "fake", "steps": 9}).model_dump(), "samples": 30}
    add_step_results(folder, spec)
    assert folder.read_summary() == before


def test_an_event_of_a_newer_version_does_not_prevent_resuming(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    events = EventWriter(folder.events_path)
    events.write("novel", step=None)
    events.write("evaluation", step=3, epoch=1, loss=0.5, accuracy=None)
    events.write("evaluation", step=6, epoch=2, loss=0.25, accuracy=None)
    events.close()
    assert earlier_evaluation(folder, 5) == {"loss": 0.5, "accuracy": None}
    assert earlier_evaluation(folder, 2) is None


def test_a_run_that_failed_keeps_its_last_evaluation(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_summary({"engine": "fake", "status": "failed"})
    events = EventWriter(folder.events_path)
    for loss in (0.5, 0.25):
        events.write("evaluation", step=3, epoch=1, loss=loss, accuracy=0.9)
    events.close()
    spec = {"config": make_config({"engine": "fake", "steps": 9}).model_dump(), "samples": 30}
    add_step_results(folder, spec)
    assert (folder.read_summary() or {})["evaluation"] == {"loss": 0.25, "accuracy": 0.9}


@pytest.mark.fault
def test_only_errors_of_reading_a_checkpoint_are_attributed_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(setup: EngineSetup) -> None:
        raise ValueError("7")

    monkeypatch.setattr("workbench.worker.train_run.engine_class", lambda name: broken)
    config = make_config({"engine": "fake", "steps": 1})
    setup = EngineSetup(tmp_path, tmp_path, config, lambda text: None)
    with pytest.raises(ValueError, match=r"^7$"):
        build_engine(setup)
    with pytest.raises(EngineError, match="step-7 cannot be restored by engine 'fake': ValueError"):
        build_engine(setup._replace(checkpoint=tmp_path / "step-7"))

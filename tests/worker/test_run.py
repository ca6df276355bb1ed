"""The worker's part of a run around its training, which is a function of the test."""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.runs.written import write_run
from workbench.run_folder.control import create_control
from workbench.run_folder.events import Event
from workbench.run_folder.run_folder import RunFolder
from workbench.worker import process as program
from workbench.worker.control import Control

EVALUATIONS: list[Event] = [
    {"event": "evaluation", "step": 3, "epoch": 1, "loss": 0.75, "accuracy": 0.5},
    {"event": "evaluation", "step": 6, "epoch": 2, "loss": 0.25, "accuracy": None},
    {"event": "checkpoint", "step": 7},
    {"event": "evaluation", "step": 9, "epoch": 3, "loss": 0.125, "accuracy": 0.9},
]

OWN = {"loss": 2.0, "accuracy": 0.1}

Train = Callable[[dict[str, Any]], None]
Start = Callable[..., tuple[int, RunFolder]]


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch, control: Control) -> list[Callable[[], None]]:
    """The action on a stop before the first step."""
    kept: list[Callable[[], None]] = []
    monkeypatch.setattr(control, "exit_if_stopped_early", kept.append)
    monkeypatch.setattr(program, "Control", lambda path: control)
    return kept


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, stops: list[Callable[[], None]]) -> Start:
    """Runs the worker of a run, new or resumed from a step, whose training is `train`."""

    def run(
        train: Train, resumed_from: int | None = None, **settings: Any
    ) -> tuple[int, RunFolder]:
        folder = write_run("of-a-worker", EVALUATIONS, **settings).folder
        folder.write_spec({**folder.read_spec(), "resumed_from": resumed_from})
        monkeypatch.setattr(sys, "argv", ["workbench.worker", str(folder.path)])
        return program.main(lambda *given: train(given[-1])), folder

    return run


@pytest.fixture(autouse=True)
def tracebacks(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """One for each time that those of native crashes were asked for; pytest has its own."""
    asked: list[bool] = []
    monkeypatch.setattr(faulthandler, "enable", lambda: asked.append(True))
    return asked


def completes(evaluation: dict[str, Any] | None) -> Train:
    def train(summary: dict[str, Any]) -> None:
        summary.update(status="completed", steps=9, evaluation=evaluation)

    return train


def trains_nothing(*given: Any) -> None:
    completes(None)(given[-1])


def fails(summary: dict[str, Any]) -> None:
    summary["peak_rss_bytes"] = 1
    raise RuntimeError("too large")


def summary_of(folder: RunFolder) -> dict[str, Any]:
    summary = folder.read_summary()
    assert summary is not None
    return summary


@pytest.mark.parametrize(
    ("resumed_from", "own", "evaluation"),
    [
        (None, None, None),
        (None, OWN, OWN),
        (7, OWN, OWN),
        (2, None, None),
        (3, None, {"loss": 0.75, "accuracy": 0.5}),
        (6, None, {"loss": 0.25, "accuracy": None}),
        (7, None, {"loss": 0.25, "accuracy": None}),
    ],
)
def test_a_run_has_its_last_evaluation_also_one_from_before_it_was_resumed(
    start: Start,
    resumed_from: int | None,
    own: dict[str, Any] | None,
    evaluation: dict[str, Any] | None,
) -> None:
    status, folder = start(completes(own), resumed_from)
    assert status == 0
    summary = summary_of(folder)
    assert (summary["engine"], summary["status"], summary["error"]) == ("fake", "completed", None)
    assert summary["evaluation"] == evaluation
    assert summary["peak_rss_bytes"] > 10**6, "where training did not say it"
    assert summary["ended"] > 10**9


@pytest.mark.parametrize(
    ("resumed_from", "steps", "evaluation"),
    [(None, 0, None), (7, 7, {"loss": 0.25, "accuracy": None})],
)
def test_a_stop_before_the_first_step_keeps_the_progress(
    start: Start,
    stops: list[Callable[[], None]],
    resumed_from: int | None,
    steps: int,
    evaluation: dict[str, Any] | None,
) -> None:
    _, folder = start(fails, resumed_from)
    folder.summary_path.unlink()
    (stop,) = stops
    stop()
    summary = summary_of(folder)
    assert (summary["status"], summary["steps"], summary["error"]) == ("stopped", steps, None)
    assert (summary["engine"], summary["evaluation"]) == ("fake", evaluation)


def test_a_failed_run_has_a_reason_and_its_measurements(
    start: Start, tracebacks: list[bool]
) -> None:
    status, folder = start(fails)
    assert tracebacks == [True]
    assert status == program.EXIT_FAILED == 1
    summary = summary_of(folder)
    assert (summary["status"], summary["peak_rss_bytes"]) == ("failed", 1)
    assert summary["error"]["message"] == "RuntimeError: too large"
    assert summary["ended"] > 10**9


@pytest.mark.fault
@pytest.mark.parametrize(("peak_bytes", "failed"), [(400_000_000, False), (421_000_000, True)])
def test_a_peak_above_the_memory_of_the_device_is_a_failure_though_training_has_ended(
    start: Start, peak_bytes: int, failed: bool
) -> None:
    """A device would not have trained to the end, however short the peak was."""

    def train(summary: dict[str, Any]) -> None:
        completes(OWN)(summary)
        summary["peak_rss_bytes"] = peak_bytes

    status, folder = start(train, device={"memory_bytes": 400_000_000})
    summary = summary_of(folder)
    assert (status, summary["status"]) == ((1, "failed") if failed else (0, "completed"))
    assert (summary["peak_rss_bytes"], summary["steps"]) == (peak_bytes, 9)
    if failed:
        assert summary["error"]["type"] == "MemoryLimit"
        said = "resident memory reached 421 MB, above its limit of 400 MB. Increase"
        assert said in summary["error"]["message"]


@pytest.mark.fault
def test_a_run_that_has_ended_or_has_a_worker_is_left_alone(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    _, folder = start(completes(None))
    capsys.readouterr()
    assert program.main(trains_nothing) == program.EXIT_UNWRITABLE == 74
    said = f"Run {folder.id} has ended; resume it with wb.resume, or start a new one.\n"
    assert capsys.readouterr().err == said
    folder.summary_path.unlink()
    with FileLock(folder.lock_path):
        assert program.main(trains_nothing) == program.EXIT_BUSY == 73
    assert "already has a worker" in capsys.readouterr().err
    assert not folder.summary_path.exists()
    assert program.main(trains_nothing) == 0


@pytest.mark.fault
def test_a_corrupt_control_file_is_a_failure_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_run("of-a-worker", []).folder
    create_control(folder.control_path, None)
    folder.control_path.write_bytes(b"cut")
    monkeypatch.setattr(sys, "argv", ["workbench.worker", str(folder.path)])
    assert program.main(trains_nothing) == 1
    summary = summary_of(folder)
    assert (summary["engine"], summary["status"]) == ("fake", "failed")
    assert str(folder.control_path) in summary["error"]["message"]
    assert summary["ended"] > 10**9

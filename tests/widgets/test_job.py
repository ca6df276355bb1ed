"""Trainings and comparisons as the page sees them."""

from __future__ import annotations

import json
import time

import pytest

import workbench as wb
from workbench.data import Dataset
from workbench.runs import Run
from workbench.widgets.job import ComparisonJob, Training

PATIENCE_S = 90
ENDED = ("completed", "stopped", "failed")


class Starts:
    """Starts runs of the fake engine, the first of which fails, under other engines' names."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, digits: Dataset) -> None:
        self.monkeypatch = monkeypatch
        self.digits = digits
        self.names: list[str] = []

    def __call__(self, engine: str) -> Run:
        behaviour = {"step_ms": 5} if self.names else {"raise_at": 3}
        self.names.append(engine)
        self.monkeypatch.setenv("WORKBENCH_FAKE", json.dumps(behaviour))
        return wb.train("digits-mlp", self.digits, engine="fake", steps=60, evaluate=False)


def finish(training: Training) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while training.status not in ENDED:
        assert time.monotonic() < deadline
        training.advance()
        time.sleep(0.02)


def test_engines_train_one_after_another_even_when_one_fails(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    starts = Starts(monkeypatch, digits)
    training = Training(starts, ["pytorch", "ondevice"])
    assert starts.names == ["pytorch"]
    assert "(1 of 2)" in training.doing
    finish(training)
    assert starts.names == ["pytorch", "ondevice"]
    assert [run.status for run in training.runs.values()] == ["failed", "completed"]
    failed, trained = training.outcome.split("\nTrained ")
    assert "asked to raise at step 3" in failed
    assert str(training.runs["pytorch"].folder.log_path) in failed
    assert trained.startswith("digits-mlp on fake: 60 steps")
    assert training.plot().axes


def test_a_stop_keeps_the_engines_that_wait_from_starting(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    starts = Starts(monkeypatch, digits)
    training = Training(starts, ["pytorch", "ondevice", "ortmodule"])
    while len(training.runs) < 2:
        training.advance()
        time.sleep(0.02)
    training.stop()
    finish(training)
    assert starts.names == ["pytorch", "ondevice"]
    assert training.status == "stopped"
    assert "Stopped digits-mlp on fake at step" in training.outcome


def test_a_comparison_names_the_engines_that_failed(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", '{"raise_at": 9}')
    job = ComparisonJob(wb.compare("digits-mlp", digits, engines=["fake"], steps=40))
    while job.status not in ENDED:
        time.sleep(0.02)
    assert job.status == "failed"
    assert "asked to raise at step 9" in job.outcome


def test_a_comparison_stopped_at_once_did_not_fail(digits: Dataset) -> None:
    job = ComparisonJob(wb.compare("digits-mlp", digits, engines=["fake"], steps=40))
    job.stop()
    while job.status not in ENDED:
        time.sleep(0.02)
    assert job.status == "stopped"
    assert job.outcome.startswith("Stopped ")

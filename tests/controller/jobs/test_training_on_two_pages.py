"""One training of several engines that two pages of a kernel follow and control."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import NoReturn

import pytest

import workbench as wb
from tests.processes import PATIENCE_S, until
from workbench.controller.jobs.offered_runs import accepted, going_on, offers
from workbench.controller.jobs.training import Training
from workbench.controller.setup import Setup
from workbench.data import Dataset
from workbench.runs import Run, resume

ENDED = ("completed", "stopped", "failed")

Start = Callable[[str], Run]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, digits: Dataset) -> Start:
    """Starts a run of the fake engine, 60 steps of 5 ms, under any engine's name."""
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"step_ms": 5}))
    return lambda _: wb.train("digits-mlp", digits, engine="fake", steps=60, evaluate=False)


def no_model(_: Setup) -> NoReturn:
    """Loads the model of an engine that trains after a run of another kernel."""
    pytest.fail("no model is loaded")


def until_status(training: Training, *statuses: str) -> None:
    until(lambda: training.advance() or training.status in statuses)


def test_a_second_page_is_offered_the_whole_training_and_controls_it(start: Start) -> None:
    first = Training(start, ["pytorch", "ondevice"])
    first.pause()
    until_status(first, "paused")
    [offer] = offers({})
    assert offer.text == (
        "digits-mlp on fake is paused at step 0 of 60. ondevice will train after it."
    )
    second = accepted(offer, lambda _: None, no_model)
    assert second is first
    assert second.doing == "Paused digits-mlp on fake (1 of 2)."
    second.resume()
    until_status(first, *ENDED)
    assert [run.status for run in second.runs.values()] == ["completed", "completed"]


def test_an_engine_is_started_once_though_two_pages_advance_the_training(start: Start) -> None:
    started, go_on = list[str](), threading.Event()

    def slowly(engine: str) -> Run:
        started.append(engine)
        if engine == "ondevice":
            assert go_on.wait(PATIENCE_S)
        return start(engine)

    training = Training(slowly, ["pytorch", "ondevice"])
    training.runs["pytorch"].wait(PATIENCE_S)
    other_page = threading.Thread(target=training.advance, daemon=True)
    other_page.start()
    until(lambda: len(started) == 2)
    training.advance()  # returns at once
    training.stop()
    go_on.set()
    other_page.join(PATIENCE_S)
    until_status(training, *ENDED)
    assert started == ["pytorch", "ondevice"]
    assert training.runs["ondevice"].status == "stopped", "it was asked for while it was started"


def test_a_run_that_ends_its_training_is_followed_alone(start: Start) -> None:
    training = Training(start, ["pytorch", "ondevice"])
    run = training.runs["pytorch"]
    assert Training.following(run) is training
    training.stop()
    assert Training.following(run) is not training, "nothing trains after it"
    until_status(training, *ENDED)


def test_a_run_resumed_elsewhere_is_followed_by_the_engines_that_waited(start: Start) -> None:
    first = Training(start, ["pytorch", "ondevice"])
    until(lambda: first.runs["pytorch"].progress.done_steps > 3)
    first.stop()
    until_status(first, "stopped")
    run = resume(first.runs["pytorch"])  # in the list of runs
    assert Training.following(run).waiting == [], "showing a run starts nothing"
    second = going_on(run, no_model)
    assert second.waiting == ["ondevice"]
    until_status(second, "completed")
    assert [each.status for each in second.runs.values()] == ["completed", "completed"]
    assert going_on(run, no_model).engines == ["fake"], "what waited for it has trained"

"""The check of the chosen model gives way to a job, and goes on after it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.controller.recording_view import PATIENCE_S, RecordingView, until
from workbench import load_model
from workbench.check import Check
from workbench.child_process.cancellation import check_cancelled
from workbench.controller import Controller
from workbench.controller.background.model_check import CHECKING, WAITING, ModelCheck
from workbench.controller.state import PREPARING, State
from workbench.controller.tasks.installation import InstallationTask
from workbench.controller.tasks.task import TaskState
from workbench.controller.tasks.tuning import TuningTask
from workbench.errors import ModelError, UntrainableError
from workbench.models import Model

READY = State("idle", "idle", "digits-mlp is ready.")


class Checks:
    """Checks that take until `finish`, or until they are cancelled."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.finish = threading.Event()
        self.errors: list[Exception] = []

    def check(self, model: Model) -> Check:
        self.begun.append(model.name)
        try:
            for _ in range(int(PATIENCE_S / 0.01)):
                check_cancelled()
                if self.finish.is_set():
                    return Check(model.name, ())
                time.sleep(0.01)
        finally:
            self.ended.append(model.name)
        raise AssertionError("the check was neither finished nor cancelled")


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Checks]:
    made = Checks()
    monkeypatch.setattr(sys.modules["workbench.check"], "check", made.check)
    yield made
    assert not made.errors


def show_now(action: Callable[[], None]) -> bool:
    action()
    return True


@pytest.mark.parametrize(
    ("error", "begin"),
    [
        (UntrainableError("No parameter."), "It cannot be trained: No parameter."),
        (ModelError("It raises."), "Not known whether it can be trained: It raises."),
    ],
)
def test_a_model_that_cannot_train_is_told_from_one_that_cannot_be_checked(
    monkeypatch: pytest.MonkeyPatch, error: Exception, begin: str
) -> None:
    def check(_: Model) -> Check:
        raise error

    monkeypatch.setattr(sys.modules["workbench.check"], "check", check)
    view = RecordingView()
    errors: list[Exception] = []
    ModelCheck(view, errors.append).begin(load_model("digits-mlp"), show_now)
    until(lambda: view.verdict == begin)
    assert not errors


def test_a_job_ends_the_check_and_it_begins_again_after_the_job(checks: Checks) -> None:
    view = RecordingView()
    check = ModelCheck(view, checks.errors.append)
    check.begin(load_model("digits-mlp"), show_now)
    until(lambda: checks.begun == ["digits-mlp"])
    assert view.verdict == CHECKING
    check.show_state(READY)  # no job: nothing changes
    check.show_state(PREPARING)
    until(lambda: checks.ended == ["digits-mlp"])
    assert view.verdict == WAITING
    check.show_state(PREPARING._replace(status="running"))
    check.show_state(PREPARING._replace(status="completed"))  # its figures are still being made
    assert view.verdict == WAITING
    check.show_state(READY)
    assert view.verdict == CHECKING
    checks.finish.set()
    until(lambda: view.verdict not in (CHECKING, WAITING))
    assert checks.begun == ["digits-mlp"] * 2
    check.show_state(PREPARING)
    check.show_state(READY)
    time.sleep(0.1)
    assert len(checks.begun) == 2, "a finished check was done again"


def test_a_profile_and_a_task_that_measures_hold_the_check_up_too(checks: Checks) -> None:
    view = RecordingView()
    check = ModelCheck(view, checks.errors.append)
    check.show_profile(None, "profiling 10 steps")
    check.begin(load_model("digits-mlp"), show_now)
    assert view.verdict == WAITING
    check.show_task(TuningTask.name, TaskState({}, {}, doing="measuring"))
    check.show_profile(None)
    assert not checks.begun
    check.show_task(TuningTask.name, TaskState({}, {}))
    until(lambda: checks.begun == ["digits-mlp"])
    assert view.verdict == CHECKING
    check.show_task(InstallationTask.name, TaskState({}, {}, doing="looking"))  # measures nothing
    assert view.verdict == CHECKING
    checks.finish.set()
    until(lambda: view.verdict not in (CHECKING, WAITING))
    assert checks.ended == ["digits-mlp"]


def test_an_earlier_choice_that_is_loaded_late_leaves_the_check_alone(checks: Checks) -> None:
    view = RecordingView()
    check = ModelCheck(view, checks.errors.append)
    check.begin(load_model("digits-cnn"), show_now)
    check.begin(load_model("digits-mlp"), lambda _: False)  # as there is a newer choice
    checks.finish.set()
    until(lambda: view.verdict not in (CHECKING, WAITING))
    assert checks.begun == ["digits-cnn"]


def test_a_model_chosen_during_a_job_is_checked_after_it(checks: Checks) -> None:
    view = RecordingView()
    check = ModelCheck(view, checks.errors.append)
    check.show_state(PREPARING)
    check.begin(load_model("digits-mlp"), show_now)
    check.begin(load_model("digits-cnn"), show_now)
    assert view.verdict == WAITING
    assert not checks.begun
    checks.finish.set()
    check.show_state(READY)
    until(lambda: view.verdict not in (CHECKING, WAITING))
    assert checks.begun == ["digits-cnn"]


def test_what_was_dropped_does_not_begin_after_the_job(checks: Checks) -> None:
    check = ModelCheck(RecordingView(), checks.errors.append)
    check.begin(load_model("digits-mlp"), show_now)
    until(lambda: checks.begun == ["digits-mlp"])
    check.drop()
    until(lambda: checks.ended == ["digits-mlp"])
    check.show_state(PREPARING)
    check.show_state(READY)
    time.sleep(0.1)
    assert checks.begun == ["digits-mlp"]


def test_training_ends_the_check_of_its_model(checks: Checks) -> None:
    view = RecordingView()
    controller = Controller(view)
    try:
        controller.setup.engines = ["fake"]
        controller.typed.set(epochs=1)
        controller.choose_model("digits-mlp")
        until(lambda: len(checks.begun) == 1)
        controller.train()
        until(lambda: len(checks.ended) == 1)
        assert controller.wait(PATIENCE_S)
        until(lambda: len(checks.begun) == 2)
        checks.finish.set()
        until(lambda: view.verdict not in (CHECKING, WAITING))
    finally:
        controller.close()

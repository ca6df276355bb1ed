"""Tasks on a thread of their own: waiting, failing, cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.controller.recording_view import RecordingView, until
from tests.controller.task_states import choose, done
from workbench.child_process.cancellation import check_cancelled, ended_if_cancelled
from workbench.controller import Controller, Setup
from workbench.controller.background import task_runner
from workbench.controller.background.task_runner import BUSY, ENDED_BY_RUN
from workbench.controller.forms.setting_fields import SettingField
from workbench.controller.tasks.task import (
    NO_MODEL,
    Inputs,
    Task,
    TaskResult,
)
from workbench.errors import EngineError


class Scripted(Task):
    """A task that does what a test says."""

    name = "verify"
    step = "artifacts"
    title = explanation = action = "Try"
    fields = (SettingField("count", "Count", "", "whole", "1"),)

    def __init__(self, work: Callable[[Inputs], TaskResult]) -> None:
        self.work = work

    def run(self, inputs: Inputs, report: Any) -> TaskResult:
        report("working")
        return self.work(inputs)

    def code(self, setup: Setup, values: Mapping[str, Any], given: Any) -> list[str]:
        return [f"attempt({given}, {dict(values)}, {setup.settings})"]


def scripted(monkeypatch: pytest.MonkeyPatch, work: Callable[[Inputs], TaskResult]) -> Controller:
    monkeypatch.setattr(task_runner, "TASKS", (Scripted(work),))
    return Controller(RecordingView(), Setup())


def test_a_task_waits_for_a_model_and_reports_its_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = scripted(
        monkeypatch, lambda inputs: TaskResult(f"{inputs.model().name} {inputs.values}")
    )
    try:
        assert page.tasks.state("verify").refusal == NO_MODEL
        page.tasks.start("verify")
        assert page.tasks.state("verify").doing == ""
        choose(page)
        page.tasks.type("verify", "count", "3")
        page.tasks.start("verify")
        state = done(page, "verify")
        assert state.result == TaskResult("digits-mlp {'count': 3}")
        assert not state.outdated
        page.typed.set(batch_size=3)
        assert page.tasks.state("verify").outdated
        page.typed.set(batch_size=None)
        assert not page.tasks.state("verify").outdated
        page.choose_model("digits-cnn")
        until(lambda: page.tasks.state("verify").result is None)
        page.tasks.show_state(page.state._replace(status="running"))
        assert page.tasks.state("verify").refusal == BUSY
    finally:
        page.close()


@pytest.mark.fault
def test_a_failure_is_a_sentence_and_the_next_attempt_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raised: list[BaseException] = [
        EngineError("It broke."),
        ZeroDivisionError("1/0"),
        SystemExit(2),
    ]

    def fail(_: Inputs) -> TaskResult:
        raise raised.pop(0)

    page = scripted(monkeypatch, fail)
    try:
        choose(page)
        said = []
        while raised:
            page.tasks.start("verify")
            said.append(done(page, "verify").problem)
        assert said[0] == "It broke."
        assert "Unexpected error" in said[1]
        assert "SystemExit" in said[2]
        page.tasks.type("verify", "count", "three")
        state = page.tasks.state("verify")
        assert state.problems == {"count": "'three' is not an integer, such as 20."}
        page.tasks.start("verify")
        assert "Count: 'three' is not" in page.tasks.state("verify").problem
    finally:
        page.close()


def test_a_cancelled_task_ends_also_while_it_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def wait(_: Inputs) -> TaskResult:
        with ended_if_cancelled(ended.set):
            begun.set()
            assert ended.wait(60)
        return TaskResult("done nonetheless")

    page = scripted(monkeypatch, wait)
    try:
        choose(page)
        page.tasks.start("verify")
        page.tasks.start("verify")  # once more, which does nothing
        assert begun.wait(60)
        assert page.tasks.state("verify").doing == "working"
        page.tasks.cancel("verify")
        assert done(page, "verify").result == TaskResult("done nonetheless")
        release = threading.Event()

        def hold() -> None:
            release.wait(60)

        page.tasks._thread.ask(hold)
        page.tasks.start("verify")
        page.tasks.cancel("verify")
        release.set()
        state = done(page, "verify")
        assert (state.problem, state.result) == ("Cancelled.", None)
    finally:
        page.close()


def test_a_run_that_begins_ends_a_task_that_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def measure(_: Inputs) -> TaskResult:
        with ended_if_cancelled(ended.set):
            begun.set()
            assert ended.wait(60)
        check_cancelled()
        return TaskResult("measured")

    page = scripted(monkeypatch, measure)
    monkeypatch.setattr(Scripted, "measures_time", True)
    try:
        choose(page)
        page.tasks.start("verify")
        assert begun.wait(60)
        page.tasks.show_state(page.state._replace(status="running"))
        state = done(page, "verify")
        assert (state.problem, state.result) == (ENDED_BY_RUN, None)
    finally:
        page.close()

"""Recorded runs that a page resumes."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.runs.written import DONE, steps, write_run
from workbench.controller.recorded_runs import run_resumption
from workbench.controller.recorded_runs.run_resumption import RunResumption
from workbench.runs import Run


class View:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.outcomes: list[str] = []

    def show_outcome(self, outcome: str, message: str, *_: Any, **__: Any) -> None:
        self.outcomes.append(message)


def test_a_run_is_resumed_with_the_model_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []

    def resume(run: Run, **settings: Any) -> Run:
        given.append(settings)
        return run

    monkeypatch.setattr(run_resumption, "resume", resume)
    resumption, model = RunResumption(view := View()), wb.load_model("digits-mlp")  # type: ignore[arg-type]
    run = write_run("a", [steps(1, [0.1] * 2)], DONE)
    resumption.resume(run)
    resumption.model_for = lambda _: model
    resumption.resume(run)
    resumption.train_further(run, 7)
    assert given == [{"model": None}, {"model": model}, {"model": model, "steps": 7}]
    assert all(message.startswith("Resumed ") for message in view.outcomes)
    # Told as of its checkpoint: by then the worker may have taken more steps.
    run.spec["resumed_from"] = 1
    resumption.resume(run)
    assert view.outcomes[-1] == f"Resumed {run.title} after step 1."

"""The states of the steps, as the tabs of the app show them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from workbench.controller import Setup, State
from workbench.controller.steps import Steps
from workbench.controller.typed_settings import TypedSettings
from workbench.load import load_model


def test_a_step_is_done_as_soon_as_its_job_has_ended() -> None:
    """Not only once the job's figures are made, after which its status is idle."""
    shown: list[Any] = []
    setup = Setup(engines=["fake"])
    steps = Steps(setup, TypedSettings(setup), shown.append)
    steps.show_model(load_model("digits-mlp"))
    steps.show_state(State("running", "busy", "Training digits-mlp on fake."))
    [train] = [step for step in shown[-1] if step.name == "train"]
    assert (train.state, train.note) == ("busy", "in progress")
    job: Any = SimpleNamespace(failed=False, status="completed")
    steps.job_ended(job)
    [train] = [step for step in shown[-1] if step.name == "train"]
    assert (train.state, train.note) == ("done", "completed")

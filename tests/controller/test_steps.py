"""The states of the steps, as the tabs of the app show them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workbench.controller import Setup, State
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.sources import LossProblem
from workbench.controller.steps import StepsView
from workbench.load import load_model


def test_a_step_is_done_as_soon_as_its_job_has_ended() -> None:
    """Not only once the job's figures are made, after which its status is idle."""
    shown: list[Any] = []
    setup = Setup(engines=["fake"])
    steps = StepsView(setup, TypedSettings(setup), shown.append)
    steps.show_model(load_model("digits-mlp"))
    steps.show_state(State("running", "busy", "Training digits-mlp on fake."))
    [train] = [step for step in shown[-1] if step.name == "train"]
    assert (train.state, train.note) == ("busy", "in progress")
    job: Any = SimpleNamespace(failed=False, status="completed", caveat="", runs={})
    steps.job_ended(job)
    [train] = [step for step in shown[-1] if step.name == "train"]
    assert (train.state, train.note) == ("done", "completed")
    steps.show_state(State("completed", "paused", "Trained it.", caveat="loss diverged"))
    steps.job_ended(job)
    [train] = [step for step in shown[-1] if step.name == "train"]
    assert (train.state, train.note) == ("ready", "loss diverged"), "no check mark beside it"
    job.caveat = "machine was busy"
    steps.show_state(State("completed", "paused", "Trained it.", caveat=job.caveat))
    steps.job_ended(job)
    [train] = [step for step in shown[-1] if step.name == "train"]
    assert (train.state, train.note) == ("done", "completed"), "the training is done all the same"
    job.status = "stopped"
    steps.show_state(State("stopped", "paused", "Stopped it."))
    steps.job_ended(job)
    [train] = [step for step in shown[-1] if step.name == "train"]
    assert (train.state, train.note) == ("ready", "stopped"), "it is not done"
    job.failed = True
    steps.job_ended(job)
    [train] = [step for step in shown[-1] if step.name == "train"]
    assert (train.state, train.note) == ("failed", "failed"), "no check mark beside it"
    steps.show_model(load_model("digits-mlp"))
    [train] = [step for step in shown[-1] if step.name == "train"]
    assert train.state == "failed", "chosen again: its results are still in view"
    steps.show_model(load_model("digits-cnn"))
    job.runs["fake"] = SimpleNamespace(spec={"model": "digits-mlp"})
    steps.job_ended(job)
    [train] = [step for step in shown[-1] if step.name == "train"]
    assert train.state != "failed", "of another model than the chosen one"
    job.runs.clear()
    steps.job_ended(job)
    steps.forget_ended()
    [train] = [step for step in shown[-1] if step.name == "train"]
    assert train.note != "failed", "its runs were deleted"


@pytest.mark.parametrize(
    ("problem", "model_note", "train_note"),
    [
        ("", "digits-mlp", "ready"),
        (LossProblem("Give another loss."), "loss does not fit", "needs another loss"),
        ("Input 'image' has another shape.", "data do not fit", "needs data that fit"),
    ],
)
def test_a_loss_that_does_not_fit_is_told_from_data(
    problem: str, model_note: str, train_note: str
) -> None:
    shown: list[Any] = []
    setup = Setup(engines=["fake"])
    steps = StepsView(setup, TypedSettings(setup), shown.append)
    steps.show_model(load_model("digits-mlp"))
    steps.show_data(DataPreview("digits", ()), problem)
    notes = {step.name: step.note for step in shown[-1]}
    assert (notes["model"], notes["train"]) == (model_note, train_note)


def test_artifacts_are_in_progress_while_they_are_generated() -> None:
    shown: list[Any] = []
    steps = StepsView(Setup(), TypedSettings(Setup()), shown.append)
    made: Any = object()
    steps.show_model(load_model("digits-mlp"))
    steps.show_prediction(None, "loading the model")
    steps.show_prediction(None, "exporting")
    steps.show_prediction(made)
    steps.show_prediction(None, "loading the model")
    steps.show_model(load_model("digits-mlp"))  # which ends it
    assert [all_of[1].note for all_of in shown] == [
        "optional",
        "in progress",
        "generated",
        "in progress",
        "optional",
    ]


def test_artifacts_of_other_settings_are_outdated() -> None:
    shown: list[Any] = []
    setup = Setup()
    typed = TypedSettings(setup)
    steps = StepsView(setup, typed, shown.append)
    made: Any = object()
    steps.show_model(load_model("digits-mlp"))
    steps.show_prediction(None, "exporting")
    steps.show_prediction(made)
    typed.type("learning_rate", "0.5")
    assert shown[-1][1][2:] == ("done", "generated"), "they do not depend on it"
    typed.type("loss", "nll")
    assert shown[-1][1][2:] == ("ready", "outdated")
    typed.type("loss", "")
    assert shown[-1][1][2:] == ("done", "generated")


def test_artifacts_need_the_settings_that_they_depend_on() -> None:
    shown: list[Any] = []
    setup = Setup(engines=["fake"])
    typed = TypedSettings(setup)
    steps = StepsView(setup, typed, shown.append)
    steps.show_model(load_model("digits-mlp"))
    typed.type("epochs", "many")
    assert shown[-1][1][2:] == ("ready", "optional"), "they do not depend on it"
    assert shown[-1][2][2:] == ("needs", "1 wrong setting")
    typed.type("max_grad_norm", "many")
    assert shown[-1][1][2:] == ("needs", "1 wrong setting")
    assert shown[-1][2][2:] == ("needs", "2 wrong settings")


def test_compare_says_that_it_shows_recorded_runs() -> None:
    shown: list[Any] = []
    setup = Setup(engines=["fake"])
    steps = StepsView(setup, TypedSettings(setup), shown.append)

    def compare() -> tuple[str, str]:
        [step] = [step for step in shown[-1] if step.name == "compare"]
        return step.state, step.note

    steps.show_recorded("recorded runs")
    assert compare() == ("ready", "recorded runs"), "which need no model"
    steps.show_model(load_model("digits-mlp"))
    steps.show_state(State("running", "busy", "Training digits-mlp on fake."))
    assert compare() == ("ready", "recorded runs")
    steps.show_state(State("running", "busy", "Comparing.", compares=True))
    assert compare() == ("busy", "in progress")
    steps.show_state(State("idle", "error", "It could not be started."))
    assert compare() == ("ready", "ready")


def test_a_step_reports_problems_of_its_inputs() -> None:
    """A comparison takes steps of its own, and a training does not wait for an idle machine."""
    shown: list[Any] = []
    setup = Setup(engines=["fake"])
    typed = TypedSettings(setup)
    steps = StepsView(setup, typed, shown.append)
    steps.show_model(load_model("digits-mlp"))

    def notes() -> list[str]:
        return [step.note for step in shown[-1] if step.name in ("train", "compare")]

    typed.type("epochs", "-1")
    assert notes() == ["1 wrong setting", "ready"]
    typed.type("batch_size", "0")
    assert notes() == ["2 wrong settings", "1 wrong setting"]
    typed.type("quiet_s", "soon")
    assert notes() == ["2 wrong settings", "2 wrong settings"]
    for name in ("epochs", "batch_size"):
        typed.type(name, "")
    assert notes() == ["ready", "1 wrong setting"]
    typed.type("quiet_s", "")
    typed.set(federation={"clients": 4}, gradient_accumulation=2)
    assert notes() == ["1 wrong setting", "ready"]

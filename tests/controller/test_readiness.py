"""The message of the page while no job is running."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import workbench as wb
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.readiness import Readiness
from workbench.controller.setup import Setup
from workbench.controller.state import State
from workbench.controller.tasks.task import TaskState
from workbench.profiling import EngineProfile
from workbench.run_folder.operator_timing import OperatorTime


def test_generation_of_artifacts_is_reported_from_start_to_end() -> None:
    told: list[State] = []
    readiness = Readiness(told.append, TypedSettings(Setup()))
    prediction: Any = object()
    quick = (OperatorTime("forward", "Gemm", "linear", "CPU", 1, 400.0),)
    profile: Any = SimpleNamespace(engines=[EngineProfile("ondevice", 0.5, 0.6, quick)])
    times = (OperatorTime("forward", "Gemm", "linear", "CPU", 1, 9000.0),)
    slowed = SimpleNamespace(engines=[EngineProfile("ondevice", 1.0, 1.0, times)])
    doubtful: Any = slowed
    readiness.show_model(wb.load_model("digits-mlp"))
    readiness.show_data(DataPreview("digits", ()))
    readiness.show_prediction(None, "loading the model and its data")
    readiness.update()  # the layers are known, or a setting is typed
    readiness.show_prediction(prediction)
    readiness.show_prediction(None, problem="No parameter is trained.")
    readiness.show_prediction(prediction)
    readiness.show_profile(None, "tracing ONNX Runtime")
    readiness.show_profile(profile)
    readiness.show_profile(doubtful)
    readiness.show_profile(None, problem="The profile names no nodes.")
    assert [(each.level, each.message) for each in told] == [
        ("idle", "digits-mlp is ready. Press Train or Compare."),
        *[
            (
                "busy",
                "Generating the artifacts of digits-mlp: loading the model and its data …",
            )
        ]
        * 2,
        ("done", "Generated the artifacts of digits-mlp, with their graphs."),
        ("error", "No parameter is trained."),
        ("done", "Generated the artifacts of digits-mlp, with their graphs."),
        ("busy", "Profiling digits-mlp: tracing ONNX Runtime …"),
        ("done", "Profiled digits-mlp: ondevice 0.50 ms per step."),
        (
            "paused",
            "Profiled digits-mlp: ondevice 1.00 ms per step. The profiler, or other programs, "
            "slowed the operators down: their times together are 9.0 times the step. Do not trust "
            "them; profile again while the machine is quiet.",
        ),
        ("error", "The profile names no nodes."),
    ]
    assert [each.message.split()[0] for each in told if each.stoppable] == [
        *("Generating", "Generating", "Profiling")
    ]


def test_a_wrong_setting_of_one_button_does_not_hide_that_the_other_can_be_pressed() -> None:
    told: list[State] = []
    typed = TypedSettings(Setup())
    readiness = Readiness(told.append, typed)
    readiness.show_model(wb.load_model("digits-mlp"))
    readiness.show_data(DataPreview("digits", ()))
    for name, label, rest in [
        ("comparison_steps", "Steps to compare (in Compare)", " Train does not use it."),
        ("epochs", "Epochs (in Train)", " Compare does not use it."),
        ("learning_rate", "Learning rate (in Train)", ""),
    ]:
        typed.type(name, "many")
        readiness.update()
        typed.type(name, "")
        assert told[-1].message.startswith(f"1 setting is wrong: {label}. 'many' is not ")
        assert told[-1].message.endswith(f".{rest}")
    readiness.hint, typed.names_steps = "Press Train.", False  # a step by itself
    typed.type("epochs", "many")
    readiness.update()
    assert told[-1].message == "1 setting is wrong: Epochs. 'many' is not an integer, such as 20."


def test_a_task_that_measures_is_reported_while_a_run_would_end_it() -> None:
    told: list[State] = []
    readiness = Readiness(told.append, TypedSettings(Setup()))
    readiness.show_model(wb.load_model("digits-mlp"))
    readiness.show_data(DataPreview("digits", ()))
    state = TaskState({}, {}, True, "")
    for name, doing in [("tune", "timing"), ("tune", ""), ("verify", "training"), ("verify", "")]:
        readiness.show_task(name, state._replace(doing=doing))
    ready = ("idle", "digits-mlp is ready. Press Train or Compare.")
    assert [(each.level, each.message) for each in told] == [
        ready,
        ("busy", "Tune kernels: timing …"),
        ready,
    ]


def test_a_model_without_a_dataset_needs_one() -> None:
    told: list[State] = []
    readiness = Readiness(told.append, TypedSettings(Setup()))
    readiness.show_data(None, "houses.csv has no column 'price'.")
    readiness.show_model(wb.load_model("digits-mlp"))
    readiness.show_data(None)
    readiness.show_model(None, "No model 'digits-mpl'.")
    readiness.show_data(DataPreview("digits", ()))
    readiness.show_model(None)
    assert [each.message for each in told] == [
        "houses.csv has no column 'price'.",
        "digits-mlp needs a dataset: choose one in the step Model.",
        "No model 'digits-mpl'.",
        "No model 'digits-mpl'.",
        "Choose a model to begin.",
    ]
    assert [each.level for each in told] == ["error", "idle", "error", "error", "idle"]


def test_how_many_parameters_are_trained_is_said_where_some_are_frozen() -> None:
    told: list[State] = []
    typed = TypedSettings(Setup())
    readiness, model = Readiness(told.append, typed), wb.load_model("digits-mlp")
    readiness.show_model(model)
    readiness.show_layers([])
    readiness.show_data(DataPreview("digits", ()))
    for patterns in ("*", "output.*", "no.such", ""):
        typed.type("requires_grad", patterns)
        readiness.update()
    assert [each.message.removesuffix(" Press Train or Compare.") for each in told[-4:]] == [
        "digits-mlp is ready.",
        "digits-mlp is ready, with 2 of 6 parameters trained.",
        told[-2].message,
        "digits-mlp is ready.",
    ]
    assert "Correct" in told[-2].message or "wrong" in told[-2].message
    typed.type("lora", "yes")  # kept for the next model that is chosen
    readiness.update()
    assert "with LoRA adapters trained in place of its parameters." in told[-1].message


def test_a_profile_in_progress_is_not_replaced_by_what_else_becomes_known() -> None:
    told: list[State] = []
    readiness = Readiness(told.append, TypedSettings(Setup()))
    readiness.show_model(wb.load_model("digits-mlp"))
    readiness.show_data(DataPreview("digits", ()))
    readiness.show_profile(None, "timing the nodes")
    readiness.show_data(DataPreview("digits", ()))
    assert told[-1].message == "Profiling digits-mlp: timing the nodes …"
    assert told[-1].stoppable
    readiness.show_profile(None)
    assert told[-1].message == "The profile was stopped."
    readiness.update()
    assert "digits-mlp is ready" in told[-1].message


def test_generated_artifacts_do_not_hide_a_wrong_setting() -> None:
    told: list[State] = []
    typed = TypedSettings(Setup())
    readiness = Readiness(told.append, typed)
    readiness.show_model(wb.load_model("digits-mlp"))
    typed.type("epochs", "many")
    prediction: Any = object()
    readiness.show_prediction(prediction)
    assert told[-1].message.startswith(
        "Generated the artifacts of digits-mlp, with their graphs. 1 "
    )
    assert "Epochs (in Train)" in told[-1].message
    assert told[-1].level == "idle"

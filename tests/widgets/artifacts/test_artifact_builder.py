"""The step of artifacts: its sections of tasks, and the profile of its graphs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.controller.recording_view import PATIENCE_S, until
from workbench.controller.background import footprint_predictor
from workbench.controller.footprint_prediction import ArtifactsWithFootprint
from workbench.controller.state import PREPARING, State
from workbench.controller.tasks.task import Table, TaskResult
from workbench.widgets.artifacts import artifact_builder
from workbench.widgets.artifacts.artifact_builder import (
    AFTER_RUN,
    PROFILE,
    PROFILE_AGAIN,
    STOP_PROFILE,
    ArtifactBuilder,
)
from workbench.widgets.artifacts.footprint_view import PARTS, FootprintView


def is_estimate(step: ArtifactBuilder) -> bool:
    return any(part["bytes"] < 0 for part in step.footprint.parts)


def test_profiling_has_a_button_where_the_graphs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the settings of the page; the graph is painted with what was found."""
    asked: list[Any] = []
    painted: list[Any] = []
    found = SimpleNamespace(engines=())

    def profile(model: Any, data: Any, engine: str, *, report: Any, **settings: Any) -> Any:
        asked.append((model.name, data.name, engine, settings))
        report("tracing")
        return found if len(asked) == 1 else 1 / 0

    monkeypatch.setattr(footprint_predictor, "profile", profile)
    step = ArtifactBuilder("digits-mlp")
    monkeypatch.setattr(step.graph, "paint", painted.append)
    try:
        step.controller.typed.set(batch_size=4, epochs=3)
        until(lambda: step.status.message == "digits-mlp is ready.")  # no Train here
        until(lambda: step.profiler.enabled)
        step.profiler._handle_custom_msg({"kind": "press"}, [])
        until(lambda: painted == [found])
        until(lambda: asked == [("digits-mlp", "digits", "ondevice", {"batch_size": 4})])
        until(lambda: step.profiler.enabled)
        step.profiler._handle_custom_msg({"kind": "press"}, [])
        until(lambda: "division by zero" in step.controller.state.message)
        until(lambda: step.profiler.label == PROFILE)
        until(lambda: step.profiler.enabled)
        step.controller.predict()  # other artifacts, with which the colours are gone
        until(lambda: step.profiler.label == PROFILE_AGAIN)
        step.controller.choose_model("digits-cnn")
        until(lambda: step.profiler.label == PROFILE)
    finally:
        step.close()


def test_settings_changed_during_a_job_are_generated_for_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(artifact_builder, "TYPING_S", 0.01)
    step = ArtifactBuilder("digits-mlp")
    try:
        until(lambda: step.model is not None)
        step.generate()
        until(lambda: step.graphs.children)
        step.controller._shown.show(PREPARING)
        step.controller.typed.set(loss="nll")
        until(lambda: step._is_due)
        assert step.footprint.outdated
        step.controller._shown.show(State("idle", "good", "Trained."))
        until(lambda: not step.footprint.outdated)
    finally:
        step.close()


def test_artifacts_that_gave_way_to_a_run_are_generated_after_it() -> None:
    step = ArtifactBuilder("digits-mlp")
    try:
        until(lambda: step.model is not None)
        step.generate()
        until(lambda: step.generating)
        step.controller._shown.show(PREPARING)
        step.controller.artifacts.give_way()
        until(lambda: step.footprint.doing == AFTER_RUN)
        assert not step.generating
        step.controller._shown.show(State("idle", "good", "Trained."))
        assert step.footprint.doing == ""
        until(lambda: step.graphs.children)
        assert not step.footprint.outdated
    finally:
        step.close()


def test_values_that_are_no_parameters_are_running_statistics() -> None:
    view = FootprintView()
    frozen = {"scale": {"shape": [3]}, "mean": {"shape": [2, 2]}}
    artifacts = SimpleNamespace(
        trainable_count=5,
        frozen_count=7,
        directory="here",
        manifest={"parameters": {"frozen": frozen}},
    )
    footprint = SimpleNamespace(
        **dict.fromkeys([key for key, _ in PARTS], 1), batch_size=2, peak_bytes=lambda: 1e6
    )
    made: Any = ArtifactsWithFootprint(artifacts, footprint)  # type: ignore[arg-type]
    view.show(made, parameters={"scale"})
    counts = "5 elements are trained and 3 are not. 4 more are running statistics."
    assert view.summary.startswith(f"{counts} At a batch of 2,")
    view.show(made, parameters={"scale", "mean"})
    assert view.summary.startswith("5 elements are trained and 7 are not. At a batch")


def test_the_same_button_stops_a_profile() -> None:
    """Of the process that profiles too, as a profile of a large model takes minutes."""
    step = ArtifactBuilder("digits-mlp")
    try:
        until(lambda: step.status.message == "digits-mlp is ready.")
        for doing in ("loading the model and its data", "warming up"):
            step.profiler._handle_custom_msg({"kind": "press"}, [])
            until(lambda doing=doing: step.profiling and doing in step.status.message)
            until(lambda: step.profiler.label == STOP_PROFILE)
            step.profiler._handle_custom_msg({"kind": "press"}, [])
            until(lambda: step.profiler.label == PROFILE)
            until(lambda: step.status.message == "The profile was stopped.")
        assert step.controller.artifacts._thread.wait(PATIENCE_S)
        assert not step.profiling
        assert step.status.message == "The profile was stopped."
    finally:
        step.close()


def test_the_same_button_stops_the_generation() -> None:
    """Of the process that exports too, as that of a large model takes minutes."""
    step = ArtifactBuilder("digits-mlp")
    try:
        until(lambda: step.status.message == "digits-mlp is ready.")
        for doing in ("loading the model and its data", "building the gradient graph"):
            step.controller.typed.set(weight_decay=len(doing) / 1000)  # nothing is cached of it
            step.button._handle_custom_msg({"kind": "press"}, [])
            until(lambda doing=doing: doing in step.footprint.doing)
            until(lambda: step.button.label == "Stop generating" and step.button.enabled)
            step.button._handle_custom_msg({"kind": "press"}, [])
            until(lambda: step.button.label == "Generate artifacts")
            until(lambda: step.status.message == "Stopped generating the artifacts of digits-mlp.")
        assert step.controller.artifacts._thread.wait(PATIENCE_S)
        until(lambda: is_estimate(step) and not step.footprint.doing)
        assert step.status.message == "Stopped generating the artifacts of digits-mlp."
        assert not step.graphs.children
        assert not step.button.has_graphs
        step.button._handle_custom_msg({"kind": "press"}, [])
        until(lambda: step.graphs.children)
        until(lambda: step.button.has_graphs)  # so that it leads to them
        until(lambda: step.footprint.parts and not is_estimate(step))
    finally:
        step.close()


def test_artifacts_are_generated_for_a_model_with_right_settings_alone() -> None:
    step = ArtifactBuilder("digits-mlp")
    try:
        until(lambda: step.tree.parameters and step.button.enabled)
        until(lambda: step.footprint.parts and not step.footprint.doing)
        step.tree.train_only("(none)")
        assert not step.button.enabled
        step.tree.train_only("*.bias")
        assert step.button.enabled
        step.controller.typed.type("epochs", "many")  # no artifacts depend on it
        assert step.button.enabled
        step.controller.typed.type("loss", "mse")  # its data have class numbers
        until(lambda: not step.button.enabled)
        step.controller.typed.type("loss", "")
        until(lambda: step.button.enabled)
        # Nothing of a model stays beside the next one, which is still being built or is none.
        step.controller.choose_model("no-such-model")
        until(lambda: not step.tree.parameters)
        until(lambda: not step.footprint.parts)
        until(lambda: not step.button.enabled)
    finally:
        step.close()


def test_a_section_passes_on_clicks_and_shows_the_result() -> None:
    step = ArtifactBuilder()
    section = next(each for each in step.sections if each.title == "Export cache")
    try:
        assert [each.title for each in step.sections] == [
            *("Largest batch", "Verify gradients", "Device bundle", "Nominal checkpoint"),
            *("Minimal build", "Export cache"),
        ]
        section.opened = True
        assert "cache" in step.setup.tasks
        until(lambda: "exports, " in section.about)
        section._handle_custom_msg({"kind": "type", "name": "use", "text": "maybe"}, [])
        assert "maybe" in section.problems["use"]
        section._handle_custom_msg({"kind": "type", "name": "other", "text": "x"}, [])
        section._handle_custom_msg({"kind": "start"}, [])
        assert "Cache: There is no 'maybe'." in section.problem
        section._handle_custom_msg({"kind": "cancel"}, [])
        state = step.controller.tasks.state("cache")
        table = Table("Sizes", ("Name", "Bytes"), (("a", "1"),))
        result = TaskResult("Done.", False, (table,), "Use batch size 64", {"batch_size": 64})
        section.show(state._replace(result=result, outdated=True))
        assert section.offer == "Use batch size 64"
        assert (section.sentences, section.good, section.outdated) == ("Done.", False, True)
        assert section.tables == [
            {"caption": "Sizes", "columns": ["Name", "Bytes"], "rows": [["a", "1"]]}
        ]
        step.controller.tasks._change("cache", result=result)
        section._handle_custom_msg({"kind": "apply"}, [])
        assert step.controller.typed.read.settings["batch_size"] == 64
    finally:
        step.close()

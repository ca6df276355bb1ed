"""The page without a browser: what its buttons do, on real runs of the fake engine."""

from __future__ import annotations

import base64
import gc
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.controller.forms.setting_fields import value_as_text
from workbench.controller.jobs.offered_runs import Offer
from workbench.controller.notebook_file import may_save
from workbench.errors import ModelError
from workbench.run_folder.control import NO_LIMIT, ControlReader
from workbench.widgets import ArtifactBuilder, ModelView, Trainer, Workbench
from workbench.widgets.app import workbench as app
from workbench.widgets.artifacts import artifact_builder

PATIENCE_S = 90

MakePage = Callable[..., Workbench]


@pytest.fixture
def make_page(monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePage]:
    """Makes pages that offer the fake engine, which behaves as the keywords say."""
    pages: list[Workbench] = []

    def make(model: Any = "digits-mlp", **behaviour: Any) -> Workbench:
        monkeypatch.setenv("WORKBENCH_FAKE", json.dumps(behaviour))
        page = Workbench(model, engines=["fake"])
        pages.append(page)
        return page

    yield make
    for page in pages:
        page.stop()
        page.wait(PATIENCE_S)
        page.close()


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.02)


def test_choosing_a_sample_shows_it_and_fills_in_its_defaults(make_page: MakePage) -> None:
    page = make_page()
    until(lambda: page.models.layers.layers)
    defaults = wb.load_model("digits-mlp").defaults
    shown = {
        field["name"]: field["default"]
        for group in page.trainer.form.groups
        for field in group["fields"]
    }
    assert {name: shown[name] for name in defaults} == {
        name: value_as_text(value) for name, value in defaults.items()
    }
    assert page.models.card.card
    assert sum(layer["parameters"] for layer in page.models.layers.layers) == 17226
    page.models.field.value = ""
    until(lambda: not page.models.layers.layers)
    assert page.status.message == "Choose a model to begin.", "it was of the model before"


def test_a_csv_file_needs_its_target_column(make_page: MakePage, tmp_path: Path) -> None:
    path = tmp_path / "flowers.csv"
    path.write_text("length,width,kind\n" + "1,2,a\n3,4,b\n" * 10, encoding="utf-8")
    page = make_page(None)
    step = page.models
    assert step.target.layout.display == "none"
    step.dataset.value = str(path)
    assert step.target.layout.display is None
    assert [each["value"] for each in step.target.options] == ["length", "width", "kind"]
    until(lambda: step.data.problem)
    assert step.data.problem == (
        f"Choose the target column of {path} in the field Target column: it is one of length, "
        "width, kind."
    )
    step.target.value = "kind"
    until(lambda: step.data.counts)
    assert [each["name"] for each in step.data.counts] == ["a", "b"]
    page.models.choose("digits-mlp")
    until(lambda: f"wb.load_dataset({str(path)!r}, 'kind')" in page.code.code["train"])
    step.dataset.value = "digits"
    assert step.target.layout.display == "none"
    until(lambda: "flowers" not in page.code.code["train"])


def test_train_draws_every_step_and_keeps_a_figure(make_page: MakePage) -> None:
    page = make_page()
    page.set(epochs=2)
    page.train()
    assert page.wait(PATIENCE_S)
    assert page.status.level == "done"
    assert page.status.message.startswith("Trained digits-mlp on fake: ")
    steps, losses, rates, memory = page.trainer.charts.points("fake")
    total = int(wb.runs()["steps"][0])
    assert steps.tolist() == list(range(1, total + 1))
    assert losses[-1] < losses[0]
    assert (rates > 0).all()
    assert (memory > 1).all()
    picture, table = page._figure.outputs
    assert base64.b64decode(picture["data"]["image/png"]).startswith(b"\x89PNG")
    assert picture["metadata"]["image/png"]["alt"] == page.status.message
    assert f">{total} of {total}</td>" in table["data"]["text/html"]
    assert f"Steps: {total} of {total}" in table["data"]["text/plain"]
    assert "Train" in page.controls.usable()


def test_settings_wait_for_the_defaults_of_a_model_just_chosen(make_page: MakePage) -> None:
    page = make_page(model=None)
    page.models.field.value = "digits-mlp"
    page.train()
    assert page.wait(PATIENCE_S)
    run = wb.load_run(wb.runs()["id"][0])
    assert run.config.epochs == wb.load_model("digits-mlp").defaults["epochs"]


def test_pause_resume_and_stop(make_page: MakePage) -> None:
    page = make_page(step_ms=10)
    page.train()
    until(lambda: page.trainer.charts.points("fake").shape[1] > 3)
    page.pause()
    until(lambda: page.status.level == "paused")
    assert "Resume" in page.controls.usable()
    held = page.trainer.charts.points("fake").shape[1]
    time.sleep(0.5)
    assert page.trainer.charts.points("fake").shape[1] == held
    page.resume()
    until(lambda: page.trainer.charts.points("fake").shape[1] > held + 3)
    page.stop()
    assert page.wait(PATIENCE_S)
    assert page.status.message.startswith("Stopped digits-mlp on fake at step ")


def test_stop_during_the_start_is_not_lost(make_page: MakePage) -> None:
    page = make_page(build_ms=500, step_ms=20)
    page.train()
    page.stop()
    assert page.wait(PATIENCE_S)
    assert page.status.message.startswith("Stopped ")


def test_compare_fills_the_table(make_page: MakePage) -> None:
    page = make_page()
    page.set(comparison_steps=60)
    page.compare()
    assert page.wait(PATIENCE_S)
    assert page.status.message == "Compared fake."
    until(lambda: page.comparison.table.rows)
    [row] = page.comparison.table.rows
    assert row["cells"]["status"] == "completed"
    assert row["cells"]["samples_per_s"] > 0
    assert page.trainer.charts.points("fake").shape[1] == 60


def test_results_of_another_model_are_named_and_not_shown(make_page: MakePage) -> None:
    page = make_page()
    until(lambda: page.trainer.charts.hint == "Press Train or Compare.")
    page.set(steps=2, comparison_steps=20)
    page.train()
    assert page.wait(PATIENCE_S)
    page.models.choose("digits-mlp")  # the same again
    until(lambda: page.models.layers.layers)
    assert page.trainer.charts.points("fake").shape[1] == 2
    page.models.choose("digits-cnn")
    elsewhere = "The results of digits-mlp are in the step Runs."
    until(lambda: page.trainer.charts.hint.startswith(elsewhere))
    assert page.trainer.charts.curves == []
    assert not page.trainer.statistics.engines
    page.compare()
    assert page.wait(PATIENCE_S)
    until(lambda: page.comparison.table.rows)
    page.models.choose("digits-mlp")
    until(lambda: not page.comparison.table.rows)
    assert page.comparison.charts.hint.startswith("The results of digits-cnn are in the step Runs.")
    assert page.comparison.ratios.verdict == "Nothing is compared yet."
    assert page.comparison.differences.runs == []
    # Recorded runs that are compared stay, whatever is chosen.
    page.set(steps=2)
    page.train()
    assert page.wait(PATIENCE_S)
    run = wb.load_run(wb.runs()["id"][0])
    page.comparison.show(run)
    until(lambda: page.comparison.table.rows)
    page.models.choose("digits-cnn")
    until(lambda: page.trainer.charts.curves == [])
    assert page.comparison.comparison is not None


def test_a_comparison_waits_for_an_idle_machine_as_long_as_the_form_states(
    make_page: MakePage,
) -> None:
    page = make_page()
    page.set(quiet_s=3600)
    page.compare()
    until(lambda: "waiting for a quiet machine" in page.status.message)
    assert "waiting for a quiet machine" in page.trainer.charts.hint
    assert page.comparison.ratios.verdict.startswith("The engines are starting")
    assert page.comparison.ratios.badge == ""
    page.stop()
    assert page.wait(PATIENCE_S)
    assert page.status.message == "Stopped before any engine had started."
    assert page.status.level == "idle"
    assert page.trainer.charts.hint == "No step was taken."
    until(lambda: page.comparison.table.rows)
    assert [row["cells"]["status"] for row in page.comparison.table.rows] == ["not started"]
    page.set(quiet_s=-1)
    page.compare()
    assert page.wait(PATIENCE_S)
    assert "quiet_s=-1.0 must be a number of seconds, 0 or more" in page.status.message


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("epochs", -1, "epochs=-1"),
        ("batch_size", 100_000, "batch_size=100000 is larger than"),
        ("loss", "mse", "mse"),
    ],
)
def test_wrong_settings_are_sentences_and_start_nothing(
    make_page: MakePage, field: str, value: Any, sentence: str
) -> None:
    page = make_page()
    until(lambda: page.models.layers.layers)
    page.set(**{field: value})
    page.train()
    assert page.wait(PATIENCE_S)
    assert page.status.level == "error"
    assert sentence in page.status.message
    assert "Traceback" not in page.status.message
    assert len(wb.runs()) == 0
    assert "Train" in page.controls.usable()


def test_a_message_says_that_nothing_is_chosen(make_page: MakePage) -> None:
    page = make_page(model=None)
    page.train()
    assert page.wait(PATIENCE_S)
    assert "No model is chosen" in page.status.message
    page.models.choose("digits-mlp")
    page.engines.value = []
    page.train()
    assert page.wait(PATIENCE_S)
    assert "choose at least one engine" in page.status.message
    page.models.field.value = "digits-mpl"
    page.train()
    assert page.wait(PATIENCE_S)
    assert "Did you mean 'digits-mlp'" in page.status.message


def test_a_second_train_does_not_disturb_the_first(make_page: MakePage) -> None:
    page = make_page(step_ms=10)
    page.train()
    page.train()
    until(lambda: page.trainer.charts.points("fake").shape[1] > 3)
    assert len(wb.runs()) == 1


def test_show_follows_a_run_started_elsewhere(make_page: MakePage) -> None:
    page = make_page(model=None)
    run = wb.train("digits-mlp", engine="fake", epochs=1).wait(PATIENCE_S)
    page.show(run)
    assert page.wait(PATIENCE_S)
    assert page.trainer.charts.points("fake").shape[1] == run.progress.done_steps
    comparison = wb.compare("digits-mlp", engines=["fake"], steps=20).wait(PATIENCE_S)
    page.show(wb.load_comparison(comparison.id))
    assert page.wait(PATIENCE_S)
    assert page.trainer.charts.points("fake").shape[1] == 20


def test_a_model_made_in_python_can_be_shown(make_page: MakePage) -> None:
    model = wb.load_model("digits-mlp", name="mine", seed=3)
    page = make_page(model=model)
    page.set(epochs=1)
    page.train()
    assert page.wait(PATIENCE_S)
    assert page.status.message.startswith("Trained mine on fake")


def test_a_module_of_the_notebook_is_chosen_by_the_name_that_it_has_there(
    make_page: MakePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = torch.nn.Linear(4, 3)
    monkeypatch.setitem(vars(sys.modules["__main__"]), "my_net", net)
    page = make_page(model=net)
    until(lambda: "name an example input" in page.status.message)
    assert page.models.field.value == "my_net"


@pytest.mark.fault
@pytest.mark.parametrize("view", [Workbench, ModelView, ArtifactBuilder, Trainer])
@pytest.mark.parametrize(
    ("model", "words"),
    [
        (torch.nn.Linear(4, 3), r"Linear has no name .*wb\.load_model\(module, example_inputs=x\)"),
        (5, "5 is no model: give a Model"),
    ],
)
def test_an_object_that_no_page_can_choose_is_a_sentence(
    view: Callable[..., object], model: object, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        view(model)


def test_a_notebook_that_git_tracks_is_not_saved_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "")
    assert not may_save()
    notebook = tmp_path / "a.ipynb"
    notebook.write_text("{}")
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebook))
    assert may_save()
    for command in (["init", "-q"], ["add", "a.ipynb"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert not may_save()


def test_the_code_of_the_page_gives_equal_losses(make_page: MakePage) -> None:
    page = make_page()
    until(lambda: page.models.layers.layers)
    page.set(epochs=2, learning_rate=0.01, seed=3, lr_schedule="cosine", max_grad_norm=1.0)
    page.train()
    assert page.wait(PATIENCE_S)
    shown = page.trainer.charts.points("fake")[1]
    names: dict[str, Any] = {}
    exec(page.code.code["train"], names)
    assert names["run"].history["loss"].to_numpy(np.float32).tolist() == shown.tolist()
    page.set(comparison_steps=20)
    exec(page.code.code["compare"], names)
    made = names["comparison"]
    assert made.table().loc["fake", "status"] == "completed"
    page.recorded.look("")
    [option] = page.recorded.options
    assert (option["value"], option["detail"]) == (made.id, "fake on digits-mlp")
    page.recorded.value = made.id
    assert page.comparison.comparison is not None
    exec(page.code.code["compare"], names)
    assert names["comparison"] is not made
    assert names["comparison"].id == made.id
    page.recorded.value = "gone"
    assert "No comparison 'gone'" in page.recorded.problem
    page._compare_runs([names["run"], *made.runs.values()])
    exec(page.code.code["compare"], names)
    assert [run.id for run in names["comparison"].runs.values()] == [
        *(names["run"].id, made.runs["fake"].id)
    ]
    page.set(comparison_steps=30)
    assert "wb.compare(" in page.code.code["compare"], "what is set up is what is done next"


def test_a_run_restores_the_page(make_page: MakePage) -> None:
    make_page(model=None)
    run = wb.train("digits-mlp", engine="fake", epochs=1, batch_size=16, lora={"rank": 2})
    run.wait(PATIENCE_S)
    page = Workbench.from_run(run.id, engines=["fake"])
    try:
        assert page.wait(PATIENCE_S)
        assert page.step == "train"
        given = {"epochs": "1", "batch_size": "16", "lora": "yes", "lora.rank": "2"}
        assert page.trainer.form.texts.items() >= given.items()
        until(lambda: page.models.model is not None)
        assert page.trainer.charts.points("fake").shape[1] == run.progress.done_steps
        assert page._controller.setup.settings["batch_size"] == 16
    finally:
        page.close()


def test_a_run_of_the_list_restores_the_page_unless_another_is_under_way(
    make_page: MakePage,
) -> None:
    run = wb.train("digits-mlp", engine="fake", epochs=1, learning_rate=0.02).wait()
    page = make_page(model=None, step_ms=10)
    page.runs.open_run(run.id)
    assert page.runs.wait(PATIENCE_S)
    assert page.runs.detail.restorable
    page.runs.detail._on_message(None, {"kind": "restore"}, None)
    assert page.runs.wait(PATIENCE_S)
    assert page.wait(PATIENCE_S)
    until(lambda: page.models.layers.layers)
    assert page.step == "train"
    assert page.trainer.form.texts["learning_rate"] == "0.02"
    assert page.trainer.charts.points("fake").shape[1] == run.progress.done_steps
    page.train()
    until(lambda: page._controller.state.active)
    page.runs.restore(run.id)
    assert page.runs.wait(PATIENCE_S)
    assert "in progress in this page" in page.runs.table.message
    page.stop()
    assert page.wait(PATIENCE_S)


def test_an_interrupted_run_that_is_resumed_fills_the_form(
    make_page: MakePage, tmp_path: Path
) -> None:
    path = tmp_path / "cells.csv"
    names = ",".join(f"x{index}" for index in range(30))
    rows = "".join(f"{','.join(['1'] * 30)},{row % 2}.0\n" for row in range(40))
    path.write_text(f"{names},ill\n{rows}", encoding="utf-8")
    model, data = "breast-cancer-mlp", wb.load_dataset(str(path), "ill")
    run = wb.train(model, data, engine="fake", epochs=3, batch_size=8).wait(PATIENCE_S)
    page = make_page(model=None)
    offer = Offer(run.id, str(run.folder.path), "follow", "")
    page.offers.show([offer])
    page.offers.accept(run.id)
    assert page.wait(PATIENCE_S)
    assert page.models.field.value == model
    assert (page.models.dataset.value, page.models.target.value) == (str(path), "ill")
    assert page.trainer.form.texts.items() >= {"epochs": "3", "batch_size": "8"}.items()
    until(lambda: page.models.data.rows)
    assert page.models.data.columns[:2] == ["x0", "x1"]
    assert page.models.data.columns[-1] == "ill (target)"
    # What a person has typed meanwhile stays.
    page.set(epochs=7)
    page.offers.show([offer])
    page.offers.accept(run.id)
    assert page.wait(PATIENCE_S)
    assert page.trainer.form.texts["epochs"] == "7"


def test_one_step_at_a_time(make_page: MakePage) -> None:
    page = make_page(step_ms=5)
    page.train()
    until(lambda: page.trainer.charts.points("fake").shape[1] > 3)
    page.pause()
    until(lambda: page.status.level == "paused")
    run = wb.load_run(wb.runs()["id"][0])
    held = run.progress.done_steps
    until(lambda: page.trainer.charts.points("fake").shape[1] == held)
    page.step_once()
    until(lambda: page.trainer.charts.points("fake").shape[1] == held + 1)
    until(lambda: page.status.level == "paused")
    control = ControlReader(run.folder.control_path)
    until(lambda: control.read() == ("pause", NO_LIMIT))
    # It was paused before the limit was lifted, so it has taken no second step.
    assert run.progress.done_steps == held + 1
    page.resume()
    until(lambda: page.trainer.charts.points("fake").shape[1] > held + 3)


def test_each_step_says_what_it_needs(make_page: MakePage) -> None:
    page = make_page(model=None)

    def notes() -> dict[str, str]:
        return {step["name"]: step["note"] for step in page.bar.steps}

    assert notes()["model"] == "choose a model"
    assert notes()["train"] == "needs a model"
    page.models.choose("digits-mlp")
    until(lambda: notes()["train"] == "ready")
    page.set(epochs=-1)
    assert notes()["train"] == "1 setting is wrong"
    page.set(epochs=None)
    page.engines.value = []
    assert notes()["compare"] == "needs an engine"


@pytest.mark.fault
def test_a_page_that_could_not_be_made_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {thread.ident for thread in threading.enumerate()}

    def fail(*_: object) -> None:
        raise ValueError("on purpose")

    monkeypatch.setattr(app, "MachineWatch", fail)
    with pytest.raises(ValueError, match="on purpose"):
        Workbench(engines=["fake"])
    # What was made holds itself in a circle. Its errors there would fail this test as well.
    until(lambda: gc.collect() >= 0 and {each.ident for each in threading.enumerate()} <= before)


@pytest.mark.fault
def test_a_model_that_ends_the_program_leaves_a_page_that_works(
    make_page: MakePage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needs_arguments.py").write_text(
        "import argparse\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--lr', required=True)\n"
        "parser.parse_args([])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    page = make_page("needs_arguments:build")
    until(lambda: "ends the program" in page.status.message)
    page.train()
    assert page.wait(PATIENCE_S)
    assert page.status.level == "error"
    page.models.choose("digits-mlp")
    until(lambda: "digits-mlp is ready" in page.status.message)


def test_close_ends_its_threads(make_page: MakePage) -> None:
    before = set(threading.enumerate())
    page = make_page()
    until(lambda: page.models.layers.layers)
    for charts in (page.trainer.charts, page.comparison.charts):
        charts._on_message(None, {"kind": "export", "format": "csv", "id": "1"}, None)
    page.artifacts._shown = {}  # as if there were artifacts, of other settings
    page.set(batch_size=16)
    own = set(threading.enumerate()) - before
    names = {thread.name for thread in own}
    assert {"charts-export", "workbench-page", "comparison-view"} <= names
    assert any(isinstance(thread, threading.Timer) for thread in own)
    page.close()
    until(lambda: not own & set(threading.enumerate()))
    assert not {thread.name for thread in set(threading.enumerate()) - before}


def test_typed_settings_generate_artifacts_once_and_not_during_a_job(
    make_page: MakePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = make_page(step_ms=5)
    until(lambda: page.models.layers.layers)
    asked: list[object] = []
    setup = page._controller.setup
    monkeypatch.setattr(
        page._controller, "predict", lambda: asked.append(setup.settings["batch_size"])
    )
    page.set(batch_size=1)
    page.artifacts.generate()
    assert asked == [1]
    monkeypatch.setattr(artifact_builder, "TYPING_S", 3600)
    page.set(batch_size=16)
    first = page.artifacts._again
    assert first is not None
    assert page.artifacts.footprint.outdated
    monkeypatch.setattr(artifact_builder, "TYPING_S", 0.01)
    page.set(batch_size=164)
    until(lambda: len(asked) > 1)
    first.join(PATIENCE_S)
    assert not first.is_alive()
    assert asked == [1, 164]
    page.set(steps=100_000)
    page.train()
    until(lambda: page._controller.state.active)
    page.set(batch_size=32)
    typed = page.artifacts._again
    assert typed is not None
    typed.join(PATIENCE_S)
    assert asked == [1, 164], "exports beside a job"
    assert page.artifacts.footprint.outdated


def test_an_evaluation_shows_classes_by_name_and_the_worst_rows(make_page: MakePage) -> None:
    page = make_page("sketch-cnn")
    page.set(epochs=1, layer_statistics_every=10)
    page.train()
    assert page.wait(PATIENCE_S)
    check_results(page)
    run = wb.load_run(wb.runs()["id"][0])
    page.trainer.worst.clear()
    page.show(run)  # and so does a recorded run
    assert page.wait(PATIENCE_S)
    check_results(page)
    page.runs.open_run(run.id)  # and one that is opened in the list
    assert page.runs.wait(PATIENCE_S)
    assert page.runs.detail.heading == run.title
    [opened] = page.runs.worst.engines
    assert opened["rows"] == page.trainer.worst.engines[0]["rows"]
    page.runs.detail.close_detail()
    assert page.runs.worst.engines == []


def check_results(page: Workbench) -> None:
    step = page.trainer
    assert step.evaluation.classes[:2] == ["circle", "triangle"]
    [evaluation] = step.evaluation.evaluations
    assert len(evaluation["confusion"]) == 40
    [worst] = step.worst.engines
    assert (worst["engine"], worst["problem"], len(worst["rows"])) == ("fake", "", 12)
    for row in worst["rows"]:
        assert base64.b64decode(row["picture"]).startswith(b"\x89PNG")
        assert row["target"] in step.evaluation.classes
        assert row["prediction"].endswith(" %)")
    [layers] = step.layers.engines
    assert (layers["layers"], layers["steps"]) == (["linear"], [10, 20, 30, 40])


def test_memory_is_estimated_before_artifacts_and_follows_the_settings(make_page: MakePage) -> None:
    page = make_page()
    view = page.artifacts.footprint
    until(lambda: view.parts)

    def parts() -> dict[str, int]:
        return {part["name"]: part["bytes"] for part in view.parts}

    assert parts()["Parameters"] == 4 * 17226
    assert parts()["Optimizer state"] == 8 * 17226
    assert view.unknown == ["Activations", "Evaluation"]
    page.set(optimizer="sgd", requires_grad=("output.*",))
    until(lambda: parts()["Optimizer state"] == 0)
    assert parts()["Gradients"] == 4 * 650
    assert "650 of 17,226 elements are trained" in view.summary
    page.set(requires_grad=("no.such",))
    until(lambda: "matches no parameter" in view.problem)
    page.set(requires_grad=None)
    until(lambda: parts().get("Gradients") == 4 * 17226)
    assert view.problem == ""


def test_a_bare_onnx_model_leaves_engines_out_that_cannot_train_it(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", "{}")
    path = wb.load_model("digits-mlp").export(tmp_path / "bare.onnx")
    page = Workbench(None, engines=["fake", "pytorch"])
    try:
        page.engines.value = ["fake", "pytorch"]
        page.models.choose(str(path))
        until(lambda: page.engines.value == ["fake"])
        assert "bare: an ONNX file has no nn.Module" in page.engines.rows[1]["reason"]
        assert page._controller.setup.engines == ["fake"]
        page.models.choose("digits-mlp")
        until(lambda: page.engines.value == ["fake", "pytorch"])
    finally:
        page.close()

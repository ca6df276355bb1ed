"""The page without a browser: what its buttons do, on real runs of the fake engine."""

from __future__ import annotations

import base64
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.controller.recording_view import PATIENCE_S, until
from tests.runs.written import DONE, steps, write_run
from tests.widgets.app.conftest import MakePage
from workbench.controller.following.follower import Follower
from workbench.controller.jobs.training import Training
from workbench.controller.model.sources import Sources
from workbench.controller.notebook_file import may_save
from workbench.models import Model
from workbench.run_folder.control import NO_LIMIT, ControlReader
from workbench.widgets import Workbench


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
    [found] = wb.runs()["samples_per_s"]
    assert page.trainer.charts.rates == {"fake": pytest.approx(found)}, "as in the list of runs"
    picture, table = page._figure.outputs
    assert base64.b64decode(picture["data"]["image/png"]).startswith(b"\x89PNG")
    assert picture["metadata"]["image/png"]["alt"] == page.status.message
    assert f">{total} of {total}</td>" in table["data"]["text/html"]
    assert f"Steps: {total} of {total}" in table["data"]["text/plain"]
    assert "Train" in page.controls.usable()


@pytest.mark.sweep
def test_settings_wait_for_the_defaults_of_a_model_just_chosen(make_page: MakePage) -> None:
    page = make_page(model=None)
    page.models.field.value = "digits-mlp"
    page.train()
    assert page.wait(PATIENCE_S)
    run = wb.load_run(wb.runs()["id"][0])
    assert run.config.epochs == wb.load_model("digits-mlp").defaults["epochs"]


def test_pause_resume_and_stop(make_page: MakePage) -> None:
    page = make_page(step_ms=10)
    page.set(epochs=1000)
    page.train()
    until(lambda: page.trainer.charts.points("fake").shape[1] > 3)
    page.pause()
    until(lambda: page.status.level == "paused")
    until(lambda: "Resume" in page.controls.usable())
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


def test_a_run_shows_its_step_unless_another_was_chosen_while_it_was_prepared(
    make_page: MakePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_load = threading.Event()
    load = Sources.model

    def slow(self: Sources, source: str, example_inputs: str = "") -> Model:
        assert may_load.wait(PATIENCE_S)
        return load(self, source, example_inputs)

    monkeypatch.setattr(Sources, "model", slow)
    page = make_page()
    page.set(steps=1)
    page.train()
    until(lambda: page.status.message.startswith("Preparing the model"))
    until(lambda: page._page_view._started_from)  # it is the last to be notified
    page.step = "runs"
    may_load.set()
    assert page.wait(PATIENCE_S)
    assert page.step == "runs"
    page.train()
    assert page.wait(PATIENCE_S)
    assert page.step == "train"


@pytest.mark.sweep  # tests/browser/test_workbench_page.py
def test_compare_fills_the_table(make_page: MakePage) -> None:
    page = make_page()
    page.set(steps=2, comparison_steps=60)
    page.train()
    assert page.wait(PATIENCE_S)
    page.compare()
    assert page.wait(PATIENCE_S)
    assert page.status.message.splitlines()[0] == "Compared fake on digits-mlp."
    until(lambda: page.comparison.table.rows)
    [row] = page.comparison.table.rows
    assert row["cells"]["status"] == "completed"
    assert row["cells"]["samples_per_s"] > 0
    assert page.comparison.charts.points("fake").shape[1] == 60
    # The step Train keeps the results of the training.
    assert page.trainer.charts.points("fake").shape[1] == 2
    assert page.trainer.evaluation.evaluations


def test_another_model_can_be_chosen_while_the_figure_of_a_run_is_made(
    make_page: MakePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_plot = threading.Event()
    plot = Training.plot

    def slow(self: Training) -> Any:
        assert may_plot.wait(PATIENCE_S)
        return plot(self)

    monkeypatch.setattr(Training, "plot", slow)
    page = make_page()
    page.set(steps=2)
    page.train()
    until(lambda: page.status.message.startswith("Trained "))
    until(lambda: page.trainer.charts.hint == "No step was taken.")  # the step knows of the end
    page.models.choose("digits-cnn")
    until(lambda: page.status.message.startswith("digits-cnn is ready"))
    elsewhere = "The results of digits-mlp are among the recorded runs."
    assert page.trainer.charts.hint.startswith(elsewhere), "and not that it is ready"
    assert [step["state"] for step in page.bar.steps if step["state"] == "busy"] == []
    may_plot.set()
    assert page.wait(PATIENCE_S)
    assert page.trainer.charts.hint.startswith(elsewhere)


def test_an_engine_has_its_throughput_as_soon_as_the_next_one_trains(
    make_page: MakePage,
) -> None:
    page = make_page(model=None)
    built = {"event": "built", "rss_before_bytes": 1}
    trained = write_run("a", [built, steps(1, [1.0, 0.1, 0.1])], DONE, steps=3, warmup_steps=1)
    trains = write_run("a", [built, steps(1, [0.2])], engine="pytorch", steps=3)
    job = Training.of(trained)
    job.engines, job.runs = ["fake", "pytorch"], {"fake": trained, "pytorch": trains}
    views = page._controller.views
    views.job_started(job)
    Follower(job, views, views.show_state).poll()
    charts = page.trainer.charts
    assert list(charts.rates) == ["fake"]
    before = charts.rates["fake"]
    assert before == trained.samples_per_s
    assert charts.rates_note == "load not known, median over the run"
    shutil.rmtree(trained.folder.path)
    views.job_ended(job)
    assert charts.rates["fake"] == before, "and not that of its curve in place of it"


def test_below_the_charts_stands_how_far_throughputs_can_be_trusted(make_page: MakePage) -> None:
    page = make_page(model=None)
    load = {"event": "load", "step": 3, "wall_s": 10.0, "other_s": 12.0, "cores": 2}
    first = write_run("a", [steps(1, [1.0, 0.1, 0.1]), load], DONE, steps=3, warmup_steps=1)
    short = {"engine": "pytorch", "steps": 3, "warmup_steps": 1}
    second = write_run("b", [steps(1, [0.2] * 3)], DONE, **short)
    job = Training.of(first)
    job.engines, job.runs = ["fake", "pytorch"], {"fake": first, "pytorch": second}
    page._controller.views.job_started(job)
    page._controller.views.job_ended(job)
    sequence, busy, unknown = page.trainer.charts.remark.split(". ")
    assert sequence.startswith("The engines trained one after another")
    assert busy == (
        "The machine was busy while fake was measured (other programs used 1.2 of 2 cores): do not "
        "trust its throughput"
    )
    assert unknown.startswith("It is not known whether the machine was quiet while pytorch was")
    assert page.trainer.charts.rates_note == "some on a busy machine, median over the run"
    page._controller.views.job_started(Training.of(second))
    assert page.trainer.charts.remark == ""


def test_how_a_run_ended_is_not_said_once_it_is_deleted(make_page: MakePage) -> None:
    page = make_page()
    page.set(steps=2)
    page.train()
    assert page.wait(PATIENCE_S)
    assert page.status.message.startswith("Trained digits-mlp")
    wb.load_run(wb.runs()["id"][0]).delete()
    until(lambda: page.status.message.startswith("digits-mlp is ready"))
    said = "The run of fake was deleted; its charts are as read before."
    until(lambda: page.trainer.charts.caption == said)
    page.train()
    assert page.wait(PATIENCE_S)
    assert page.trainer.charts.caption == ""


def test_a_run_that_is_renamed_has_its_new_name_in_train_too(make_page: MakePage) -> None:
    page = make_page()
    page.set(steps=2)
    page.train()
    assert page.wait(PATIENCE_S)
    wb.load_run(wb.runs()["id"][0]).rename("first try")
    until(lambda: [curve["detail"] for curve in page.trainer.charts.curves] == ["first try"])


def test_a_run_whose_folder_is_removed_keeps_the_throughput_of_its_curve(
    make_page: MakePage,
) -> None:
    page = make_page(step_ms=5)
    page.train()
    until(lambda: page.trainer.charts.points("fake").shape[1] > 3)
    shutil.rmtree(wb.load_run(wb.runs()["id"][0]).folder.path)
    assert page.wait(PATIENCE_S)
    assert page.status.level == "error"
    assert "fake" not in page.trainer.charts.rates  # else there would be none


def test_the_layers_lead_to_the_graphs_which_are_generated_once(make_page: MakePage) -> None:
    page = make_page()
    until(lambda: page.models.layers.layers and page.artifacts.can_generate())
    page.models.layers._handle_custom_msg({"kind": "graphs"}, [])
    assert page.step == "artifacts"
    until(lambda: page.artifacts.button.has_graphs)
    assert page.artifacts.button.asked == 1
    page.step = "model"
    page.models.layers._handle_custom_msg({"kind": "graphs"}, [])
    assert page.artifacts.button.asked == 2
    assert not page.artifacts.generating


def test_the_charts_name_the_chosen_engines_before_a_run(make_page: MakePage) -> None:
    page = make_page(model=None)

    def names() -> list[str]:
        return [curve["label"] for curve in page.trainer.charts.curves]

    assert names() == []
    page.models.choose("digits-mlp")
    until(lambda: page.trainer.charts.hint == "Press Train.")
    until(lambda: names() == ["fake"])
    until(lambda: page.trainer.charts.evaluates)  # the legend has room for the test split
    page.trainer.engines.value = []
    assert names() == []
    assert page.trainer.charts.hint == "Press Train."
    page.trainer.engines.value = ["fake"]
    page.set(steps=2)
    changes: list[Any] = []
    page.trainer.charts.observe(lambda change: changes.append(names()), "curves")
    page.train()
    assert page.wait(PATIENCE_S)
    assert changes
    assert all(each == ["fake"] for each in changes), "nothing moves as a run begins"
    page.trainer.engines.value = []
    assert names() == ["fake"], "results stay"


@pytest.mark.sweep
def test_results_of_another_model_are_named_and_not_shown(make_page: MakePage) -> None:
    page = make_page()
    until(lambda: page.trainer.charts.hint == "Press Train.")
    page.set(steps=2, comparison_steps=20)
    page.train()
    assert page.wait(PATIENCE_S)
    page.models.choose("digits-mlp")  # the same again
    until(lambda: page.models.layers.layers)
    until(lambda: page.trainer.charts.points("fake").shape[1] == 2)
    page.models.choose("digits-cnn")
    elsewhere = "The results of digits-mlp are among the recorded runs."
    until(lambda: page.trainer.charts.hint.startswith(elsewhere))
    until(lambda: page.trainer.charts.empty)
    until(lambda: not page.trainer.statistics.engines)
    until(lambda: page.status.message.startswith("digits-cnn is ready"))  # with its data
    until(lambda: page.trainer.charts.hint.startswith(elsewhere))
    page.compare()
    assert page.wait(PATIENCE_S)
    until(lambda: page.comparison.table.rows)
    page.models.choose("digits-mlp")
    until(lambda: not page.comparison.table.rows)
    assert page.comparison.ratios.verdict.startswith(
        "The results of digits-cnn are among the recorded runs."
    )
    assert not page.comparison.statistics.engines
    until(lambda: page.comparison.differences.runs == [])
    # Recorded runs that are compared stay, whatever is chosen.
    page.set(steps=2)
    page.train()
    assert page.wait(PATIENCE_S)
    run = wb.load_run(wb.runs()["id"][0])
    page.comparison.show(run)
    until(lambda: page.comparison.table.rows)
    page.models.choose("digits-cnn")
    until(lambda: page.trainer.charts.empty)
    assert page.comparison.comparison is not None


def test_a_comparison_waits_for_an_idle_machine_as_long_as_the_form_states(
    make_page: MakePage,
) -> None:
    page = make_page()
    page.set(quiet_s=3600)
    page.compare()
    until(lambda: "waiting for a quiet machine" in page.status.message)
    until(lambda: "waiting for a quiet machine" in page.comparison.charts.hint)
    until(lambda: page.trainer.charts.hint.startswith("A comparison is in progress"))
    until(lambda: page.comparison.ratios.verdict.startswith("Waiting for a quiet machine"))
    page._controller.views.show_model(page.models.model)  # as of one that takes long to load
    assert page.trainer.charts.hint.startswith("A comparison is in progress")
    page.stop()
    assert page.wait(PATIENCE_S)
    assert page.status.message == "Stopped before any engine had started."
    assert page.status.level == "idle"
    until(lambda: page.comparison.charts.hint == "No step was taken.")
    until(lambda: page.comparison.table.rows)
    until(lambda: [row["cells"]["status"] for row in page.comparison.table.rows] == ["not started"])
    page.set(quiet_s=-1)
    page.compare()
    assert page.wait(PATIENCE_S)
    wrong = "1 setting is wrong: Wait for idle machine (s) -1 (in Compare). Must be 0 or more."
    assert page.status.message == wrong


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("epochs", -1, "1 setting is wrong: Epochs -1 (in Train). Must be 1 or more."),
        ("batch_size", 100_000, "1 setting is wrong: Batch size 100000 (in Train). "),
        ("loss", "mse", "mse"),
    ],
)
def test_wrong_settings_are_sentences_and_start_nothing(
    make_page: MakePage, field: str, value: Any, sentence: str
) -> None:
    page = make_page()
    until(lambda: page.models.layers.layers and page.models.data.counts)
    page.set(**{field: value})
    page.train()
    assert page.wait(PATIENCE_S)
    assert page.status.level == "error"
    assert sentence in page.status.message
    assert "Traceback" not in page.status.message
    assert len(wb.runs()) == 0
    page.set(**{field: None})
    until(lambda: "Train" in page.controls.usable())


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
    # The step Model may still show that it loads it, and then says the same.
    until(lambda: "Did you mean 'digits-mlp'" in page.status.message)


def test_a_second_train_does_not_disturb_the_first(make_page: MakePage) -> None:
    page = make_page(step_ms=10)
    page.set(epochs=1000)
    page.train()
    page.train()
    until(lambda: page.trainer.charts.points("fake").shape[1] > 3)
    until(lambda: len(wb.runs()) == 1)


def test_a_model_made_in_python_can_be_shown(make_page: MakePage) -> None:
    model = wb.load_model("digits-mlp", name="mine", seed=3)
    page = make_page(model=model)
    page.set(epochs=1)
    page.train()
    assert page.wait(PATIENCE_S)
    assert page.status.message.startswith("Trained mine on fake")


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
    page._recorded.field.look("")
    [option] = page._recorded.field.options
    assert option["value"] == made.id
    assert option["detail"].startswith("fake on digits-mlp, ")
    page._recorded.field.value = made.id
    assert page._recorded.field.description == option["detail"], "an id says little"
    assert page.comparison.comparison is not None
    exec(page.code.code["compare"], names)
    assert names["comparison"] is not made
    assert names["comparison"].id == made.id
    page._recorded.field.value = "gone"
    assert "No comparison 'gone'" in page._recorded.field.problem
    page._recorded.compare([names["run"], *made.runs.values()])
    exec(page.code.code["compare"], names)
    assert [run.id for run in names["comparison"].runs.values()] == [
        *(names["run"].id, made.runs["fake"].id)
    ]
    alone, measured = names["run"].id, made.runs["fake"].id
    page.runs.refresh()
    assert page.runs.wait(PATIENCE_S)  # only a listed run is known to be deleted
    page.runs.delete([alone])
    until(lambda: alone not in page.code.code["compare"])
    until(lambda: measured in page.code.code["compare"])

    def compare_note() -> str:
        return next(step["note"] for step in page.bar.steps if step["name"] == "compare")

    until(lambda: compare_note() == "recorded runs")
    page.runs.delete([measured])
    until(lambda: compare_note() == "ready")
    until(lambda: "wb.compare(" in page.code.code["compare"])  # none of them is left
    page.runs.undelete([measured])
    until(lambda: compare_note() == "recorded runs")
    until(lambda: measured in page.code.code["compare"])
    page._recorded.field.value = made.id
    page.runs.delete([measured])
    end = "The run of fake was deleted; its figures are as read before."
    until(lambda: page.comparison.ratios.verdict.endswith(end))
    page.runs.undelete([measured])
    until(lambda: "deleted" not in page.comparison.ratios.verdict)
    page.set(comparison_steps=30)
    assert "wb.compare(" in page.code.code["compare"], "what is set up is what is done next"


def test_one_step_at_a_time(make_page: MakePage) -> None:
    page = make_page(step_ms=5)
    page.set(epochs=1000)
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
    until(lambda: run.progress.done_steps == held + 1)
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
    assert notes()["train"] == "1 wrong setting"
    page.set(epochs=None)
    page.engines.value = []
    assert notes()["compare"] == "needs an engine"


@pytest.mark.sweep
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
    assert page.runs.opened.detail.heading == run.title
    [opened] = page.runs.opened.worst.engines
    assert opened["rows"] == page.trainer.worst.engines[0]["rows"]
    page.runs.opened.detail.close_detail()
    assert page.runs.opened.worst.engines == []


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
    assert (layers["layers"], layers["steps"]) == (["linear"], [1, 10, 20, 30, 40])


def test_memory_is_estimated_before_artifacts_and_follows_the_settings(make_page: MakePage) -> None:
    page = make_page()
    view = page.artifacts.footprint
    until(lambda: view.parts)

    def parts() -> dict[str, int]:
        return {part["name"]: part["bytes"] for part in view.parts}

    until(lambda: parts()["Parameters"] == 4 * 17226)
    until(lambda: parts()["Optimizer state"] == 8 * 17226)
    until(lambda: [n for n, size in parts().items() if size < 0] == ["Activations", "Evaluation"])
    page.set(optimizer="sgd", requires_grad=("output.*",))
    until(lambda: parts()["Optimizer state"] == 0)
    until(lambda: parts()["Gradients"] == 4 * 650)
    until(lambda: "650 of 17,226 elements are trained" in view.summary)
    page.set(requires_grad=("no.such",))
    until(lambda: page.artifacts.tree.problem.startswith("No parameter matches 'no.such'"))
    until(lambda: view.outdated)  # it was of the setting before
    page.set(requires_grad=None)
    until(lambda: parts().get("Gradients") == 4 * 17226)
    until(lambda: (view.problem, view.outdated) == ("", False))


@pytest.mark.sweep
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
        until(lambda: "bare: an ONNX file has no nn.Module" in page.engines.rows[1]["reason"])
        until(lambda: page._controller.setup.engines == ["fake"])
        page.models.choose("digits-mlp")
        until(lambda: page.engines.value == ["fake", "pytorch"])
    finally:
        page.close()

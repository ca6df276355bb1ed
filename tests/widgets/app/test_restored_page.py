"""The page without a browser: recorded runs fill its forms and are shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import workbench as wb
from tests.controller.recording_view import PATIENCE_S, until
from tests.runs.written import DONE, append, steps, write_run
from tests.widgets.app.conftest import MakePage
from workbench.compare.lockstep import make_plan
from workbench.compare.record import ComparisonRecord
from workbench.controller.jobs.offered_runs import Offer
from workbench.controller.restore import restored
from workbench.controller.state import PREPARING
from workbench.display.number_format import significant
from workbench.errors import ConfigError, RunFolderError
from workbench.files.json_file import write_json
from workbench.runs.listing import Changes
from workbench.widgets import Workbench
from workbench.widgets.compare.result_bars import PRESS_COMPARE


def test_show_follows_a_run_started_elsewhere(make_page: MakePage) -> None:
    page = make_page(model=None)
    run = wb.train("digits-mlp", engine="fake", epochs=1).wait(PATIENCE_S)
    page.show(run)
    assert page.wait(PATIENCE_S)
    assert page.step == "train"
    assert page.trainer.charts.points("fake").shape[1] == run.progress.done_steps
    comparison = wb.compare("digits-mlp", engines=["fake"], steps=20).wait(PATIENCE_S)
    page.show(wb.load_comparison(comparison.id))
    assert page.wait(PATIENCE_S)
    assert page.step == "compare"
    until(lambda: page.comparison.charts.points("fake").shape[1] == 20)
    until(lambda: page.trainer.charts.points("fake").shape[1] == run.progress.done_steps)


@pytest.mark.sweep  # the next test
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
        until(lambda: page.trainer.charts.points("fake").shape[1] == run.progress.done_steps)
        until(lambda: page._controller.setup.settings["batch_size"] == 16)
    finally:
        page.close()


def test_the_code_of_a_restored_run_is_that_of_the_run(make_page: MakePage) -> None:
    """Also with an engine that the page does not offer, and with what is no part of a config."""
    make_page(model=None)
    base = {"base": "sketch-cnn", "base_except": "*.bias"}
    run = wb.train("sketch-cnn", engine="fake", steps=4, **base, detached=True).wait(PATIENCE_S)
    page = Workbench.from_run(run.id, engines=["ondevice"])
    try:
        assert page.wait(PATIENCE_S)
        assert [row["name"] for row in page.engines.rows] == ["ondevice", "fake"]
        assert page.engines.value == ["fake"]
        until(lambda: page.models.model is not None)
        given = "engine='fake', steps=4, base='sketch-cnn', base_except=('*.bias',), detached=True,"
        assert given in " ".join(code_of(page, "train").split())
        page.engines.value = []
        assert code_of(page, "train").endswith("# Choose an engine first.\n")
        assert code_of(page, "compare").endswith("# Choose an engine first.\n")
    finally:
        page.close()


def code_of(page: Workbench, step: str) -> str:
    return str(page.code.code[step])


def test_the_base_of_a_restored_run_is_a_run_or_a_file(tmp_path: Path) -> None:
    run = write_run("a", [steps(1, [1.0])], {"status": "completed"})
    origins = {
        "r": {"run": "r", "step": 3},
        str(tmp_path / "f.onnx"): {"file": str(tmp_path / "f.onnx")},
    }
    for base, origin in origins.items():
        spec = {**run.spec, "base": {**origin, "except": []}}
        write_json(run.folder.spec_path, spec)
        found = restored(wb.load_run(run.id)).settings
        assert (found["base"], found.get("base_except")) == (base, None)
    write_json(run.folder.spec_path, {**run.spec, "base": {"file": "x"}})
    with pytest.raises(RunFolderError, match=r"base\.except"):
        wb.load_run(run.id)


def test_a_run_of_the_list_restores_the_page_unless_another_is_under_way(
    make_page: MakePage,
) -> None:
    run = wb.train("digits-mlp", engine="fake", epochs=1, learning_rate=0.02).wait()
    page = make_page(model=None, step_ms=10)
    page.runs.open_run(run.id)
    assert page.runs.wait(PATIENCE_S)
    assert page.runs.opened.detail.restorable
    page.runs.opened.detail._on_message(None, {"kind": "restore"}, None)
    assert page.runs.wait(PATIENCE_S)
    assert page.wait(PATIENCE_S)
    until(lambda: page.models.layers.layers)
    until(lambda: page.step == "train")
    until(lambda: page.trainer.form.texts["learning_rate"] == "0.02")
    until(lambda: page.trainer.charts.points("fake").shape[1] == run.progress.done_steps)
    page.set(epochs=1000)
    page.train()
    until(lambda: page._controller.state.active)
    page.runs.restore(run.id)
    assert page.runs.wait(PATIENCE_S)
    assert "in progress in this page" in page.runs.table.message
    page.stop()
    assert page.wait(PATIENCE_S)


def test_a_run_resumed_in_runs_brings_its_settings(make_page: MakePage) -> None:
    """So that the form, and the code of the page, are those of the run that is shown."""
    run = wb.train("digits-mlp", engine="fake", epochs=50, learning_rate=0.02)
    until(lambda: run.progress.done_steps)
    run.stop()
    run.wait()
    page = make_page(model="digits-mlp")
    page.set(epochs=7, learning_rate=3.0)
    page.runs.resume(run.id)
    assert page.runs.wait(PATIENCE_S)
    assert page.wait(PATIENCE_S)
    assert page.trainer.form.texts == {"epochs": "50", "learning_rate": "0.02"}
    until(lambda: "epochs=50, learning_rate=0.02" in page.code.code["train"])


def test_artifacts_stay_while_a_run_of_their_model_is_restored(make_page: MakePage) -> None:
    run = wb.train("digits-mlp", engine="fake", epochs=1).wait()
    page = make_page("digits-mlp")
    until(lambda: "digits-mlp is ready" in page.status.message)
    model = page.models.model
    page.artifacts.generate()
    until(lambda: "Generated the artifacts" in page.status.message)
    page.show(run)
    assert page.wait(PATIENCE_S)
    assert page.models.model is model
    assert [step["note"] for step in page.bar.steps if step["name"] == "artifacts"] == ["generated"]


def test_a_result_is_back_with_its_run(make_page: MakePage) -> None:
    page = make_page(model="digits-mlp")
    page.set(steps=2)
    until(lambda: "is ready" in page.status.message)
    page.train()
    assert page.wait(PATIENCE_S)
    until(lambda: page.status.message.startswith("Trained digits-mlp"))
    said, [run_id] = page.status.message, list(wb.runs()["id"])

    def train_note() -> str:
        return next(step["note"] for step in page.bar.steps if step["name"] == "train")

    page.runs.refresh()
    assert page.runs.wait(PATIENCE_S)
    page.runs.delete([run_id])
    until(lambda: "is ready" in page.status.message and train_note() == "ready")
    until(lambda: "was deleted" in page.trainer.charts.caption)
    page.runs.undelete([run_id])
    until(lambda: page.status.message == said and train_note() == "completed")
    until(lambda: page.trainer.charts.caption == "")


def test_another_model_does_not_keep_what_a_run_has_filled_in(make_page: MakePage) -> None:
    run = wb.train("digits-mlp", engine="fake", epochs=2, learning_rate=0.02).wait(PATIENCE_S)
    page = make_page(model="digits-cnn")
    page.engines.choose("pytorch", "fake")
    for typed, kept in (({}, {}), ({"seed": 4}, {"seed": "4", "epochs": "2"})):
        page.restore(run)
        assert page.wait(PATIENCE_S)
        page._controller.views.show_model(wb.load_model("digits-cnn"))  # that was under way still
        assert (page.engines.value, page.trainer.form.texts["epochs"]) == (["fake"], "2")
        page.set(**typed)
        page.models.choose("digits-cnn")
        until(lambda: sorted(page.engines.value) == ["fake", "pytorch"])
        # What a person has changed stays.
        until(lambda kept=kept: bool(page.trainer.form.texts) == bool(kept))  # type: ignore[misc]
        assert page.trainer.form.texts.items() >= kept.items()


@pytest.mark.sweep
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
    offer = Offer(run.id, "follow", "", run)
    page.offers.show([offer])
    page.offers.accept(run.id)
    assert page.wait(PATIENCE_S)
    assert page.models.field.value == model
    assert (page.models.dataset.value, page.models.target.value) == (str(path), "ill")
    assert page.trainer.form.texts.items() >= {"epochs": "3", "batch_size": "8"}.items()
    until(lambda: page.models.data.rows)
    until(lambda: page.models.data.columns[:2] == ["x0", "x1"])
    until(lambda: page.models.data.columns[-1] == "ill (target)")
    # What a person has typed meanwhile stays.
    page.set(epochs=7)
    page.offers.show([offer])
    page.offers.accept(run.id)
    assert page.wait(PATIENCE_S)
    assert page.trainer.form.texts["epochs"] == "7"


def test_a_page_says_which_model_of_a_run_it_cannot_restore(make_page: MakePage) -> None:
    run = write_run("a", [steps(1, [1.0])], {"status": "completed"}, learning_rate=0.5)
    page = make_page(model=None)
    page.restore(run)
    assert page.wait(PATIENCE_S)
    assert page.models.field.problem == "model-a is no sample: choose its file or module here."
    assert page.trainer.form.texts["learning_rate"] == "0.5"
    page.models.choose("digits-mlp")  # as the page asks for
    until(lambda: page.bar.title.startswith("digits-mlp"))
    assert page.trainer.form.texts["learning_rate"] == "0.5"


def test_engines_chosen_since_a_run_was_restored_are_those_before_the_next(
    make_page: MakePage,
) -> None:
    run = wb.train("digits-mlp", engine="fake", epochs=2).wait(PATIENCE_S)
    page = make_page(model="digits-cnn")
    page.engines.choose("pytorch", "fake")
    page.restore(run)
    assert page.wait(PATIENCE_S)
    page.engines.choose("pytorch")
    page.restore(run)
    assert page.wait(PATIENCE_S)
    page.models.choose("digits-cnn")
    until(lambda: page.engines.value == ["pytorch"])


def test_engines_stay_chosen_while_a_run_is_resumed(make_page: MakePage) -> None:
    run = wb.train("digits-mlp", engine="fake", epochs=2).wait(PATIENCE_S)
    page = make_page(model="digits-mlp")
    page.engines.choose("pytorch", "fake")
    page._filler.go_on(run)
    assert page.wait(PATIENCE_S)
    assert sorted(page.engines.wanted) == ["fake", "pytorch"]
    assert page.trainer.form.texts["epochs"] == "2"
    page.engines.choose("pytorch")
    page._filler.go_on(run)
    assert page.wait(PATIENCE_S)
    assert page.engines.wanted == ["pytorch"]


def test_an_interrupted_comparison_is_offered_as_one(make_page: MakePage) -> None:
    interrupted = {"status": "interrupted", "reason": "The kernel is gone."}
    record = ComparisonRecord(make_plan(200, 5), ["pytorch", "ondevice"])
    runs = []
    for engine in ("pytorch", "ondevice"):
        run = write_run("a", [steps(1, [0.1] * 40)], interrupted, engine=engine, steps=200)
        record.add_run(engine, run.id)
        runs.append(run)
    page = make_page(model=None)
    until(lambda: page.offers.offers)
    [offer] = page.offers.offers
    assert offer["action"] == "open"
    assert offer["text"] == (
        "The comparison of pytorch, ondevice on model-a was interrupted at step 40 of 200."
    )
    page.offers.accept(offer["id"])
    assert page.step == "compare"
    until(lambda: page.comparison.charts.points("ondevice").shape[1] == 40)
    until(lambda: f"wb.load_comparison({record.id!r})" in page.code.code["compare"])
    # The badge in the bar is of what is shown.
    badge = wb.load_comparison(record.id).badge
    assert badge
    until(lambda: page.bar.verdict == f"model-a: {badge}")
    # Not where another model is chosen: over its charts it would be taken for a result of it.
    page.models.choose("digits-mlp")
    caption = "These charts are of model-a; digits-mlp is chosen for the next run."
    until(lambda: page.comparison.charts.caption == caption)
    until(lambda: page.bar.verdict == "")
    page.models.field.value = ""
    until(lambda: page.bar.verdict == f"model-a: {badge}")
    # The notebook keeps it, for where there is no kernel: the figures of the page.
    until(lambda: page._figure.figure_id == "-".join(run.id for run in runs))
    static = page._figure.outputs[1]["data"]["text/plain"]
    compared = wb.load_comparison(record.id)
    assert static.startswith(compared.verdict().sentence)
    for engine, row in compared.table().iterrows():
        [line] = [each for each in static.splitlines() if each.startswith(f"Engine: {engine},")]
        assert f"samples/s: {significant(row['samples_per_s'])}, " in line
        assert f"Ratio (95 % interval): {significant(row['ratio'])}" in line
    page._recorded.compare(runs)
    until(lambda: page.bar.verdict == f"model-a: {wb.compare_runs(runs).badge}")
    until(lambda: page.bar.verdict_detail == wb.compare_runs(runs).verdict().sentence)
    assert "≈" not in page.bar.verdict, "they were measured in lockstep"
    runs.append(write_run("a", [steps(1, [0.2] * 40)], interrupted, engine="ortmodule", steps=200))
    page._recorded.compare(runs)
    until(lambda: page.bar.verdict.startswith("model-a: ≈ "))
    # Another job leaves the comparison in view, and its badge with it.
    shown = page.bar.verdict
    page.show(runs[-1])
    assert page.wait(PATIENCE_S)
    assert page.bar.verdict == shown
    page.comparison.clear("Nothing.")
    until(lambda: page.bar.verdict == "")


def test_a_failed_run_is_offered_to_be_resumed(make_page: MakePage) -> None:
    page = make_page(raise_at=9)
    page.set(checkpoint_every=5, steps=20)
    page.train()
    assert page.wait(PATIENCE_S)
    text = "digits-mlp on fake failed after step 8 of 20; it goes on from step 5."
    until(lambda: [offer["text"] for offer in page.offers.offers] == [text])
    page._runs_changed(Changes([], []))  # as other runs go on
    assert page._controller._engines.wait(PATIENCE_S)
    assert [offer["action"] for offer in page.offers.offers] == ["resume"]
    page.offers.accept(page.offers.offers[0]["id"])
    assert page.wait(PATIENCE_S)
    assert page.status.message.startswith("digits-mlp on fake failed after step 8:"), "again"


def test_a_stopped_training_goes_on_with_all_of_its_engines(make_page: MakePage) -> None:
    page = make_page(engines=["fake", "ondevice"], step_ms=20)
    page.engines.choose("fake", "ondevice")
    page.set(steps=400, evaluate=False)
    page.train()
    first, second = page.engines.wanted
    until(lambda: page.trainer.charts.points(first).shape[1] > 3)
    page.stop()
    assert page.wait(PATIENCE_S)
    until(lambda: page.offers.offers)
    [offer] = page.offers.offers
    assert offer["action"] == "resume"
    assert offer["text"].endswith(f" of 400; if you resume it, {second} will train after it.")
    page.offers.accept(offer["id"])
    assert page.wait(PATIENCE_S)
    assert f"Trained digits-mlp on {first} and {second}: 400 steps" in page.status.message
    assert page.engines.wanted == [first, second]


def test_recorded_runs_are_shown_side_by_side_by_code(make_page: MakePage) -> None:
    runs = [wb.train("digits-mlp", engine="fake", steps=8, seed=seed) for seed in (1, 2)]
    for run in runs:
        run.wait()
    page = make_page()
    page.show(wb.compare_runs(runs))
    until(lambda: page.comparison.table.rows)
    assert page.step == "compare"
    names = [row["engine"] for row in page.comparison.table.rows]
    assert names == ["fake · seed 1", "fake · seed 2"]
    with pytest.raises(ConfigError, match=r"show\('run'\): give a Run"):
        page.show("run")  # type: ignore[arg-type]


def test_a_run_of_another_model_is_named_beside_the_chosen_one(make_page: MakePage) -> None:
    page = make_page(model="digits-mlp", step_ms=20)
    until(lambda: page.bar.title == "digits-mlp · digits")
    run = wb.train("digits-cnn", engine="fake", epochs=50)
    page.show(run)
    until(lambda: page.bar.title == "running: digits-cnn")
    caption = "These charts are of digits-cnn; digits-mlp is chosen for the next run."
    until(lambda: page.trainer.charts.caption == caption)
    until(lambda: not page.trainer.charts.empty)
    run.stop()
    assert page.wait(PATIENCE_S)
    until(lambda: page.bar.title == "digits-mlp · digits")
    assert page.trainer.charts.caption == caption
    train = next(step for step in page.bar.steps if step["name"] == "train")
    assert (train["state"], train["note"]) == ("ready", "ready"), "of the chosen model"
    page.models.choose("digits-cnn")
    until(lambda: page.trainer.charts.caption == "")
    assert not page.trainer.charts.empty


def test_recorded_runs_without_a_step_are_compared_and_leave_no_figure(make_page: MakePage) -> None:
    runs = [write_run(name, [], {"status": "failed", "steps": 0}) for name in ("a", "b")]
    page = make_page(model=None)
    page._recorded.compare(runs)
    until(lambda: page.comparison.table.rows)
    until(lambda: page.comparison.charts.hint == "No step was taken.")
    assert page.comparison._thread.wait(PATIENCE_S)
    assert "cannot be shown" not in page.comparison.ratios.verdict
    assert page._figure.figure_id == ""


def test_an_offer_is_of_now_and_stays_dismissed(make_page: MakePage) -> None:
    run = write_run("a", [steps(1, [0.1] * 4)], epochs=2)
    page = make_page(model=None)
    until(lambda: [offer["text"] for offer in page.offers.offers] == [
        "model-a on fake is in progress: step 4 of 6."
    ])  # fmt: skip
    append(run.folder.events_path, [steps(5, [0.1])])
    until(lambda: page.offers.offers[0]["text"].endswith("step 5 of 6."))
    append(run.folder.events_path, [{"event": "paused", "time": 1.0}])
    until(lambda: page.offers.offers[0]["text"].endswith("on fake is paused at step 5 of 6."))
    page.offers._handle_custom_msg({"kind": "dismiss", "id": run.id}, [])
    assert page.offers.offers == []
    page._controller.list_offers()
    assert page._controller._engines.wait(PATIENCE_S)
    assert page.offers.offers == []


def test_the_code_of_recorded_runs_stays_while_they_are_in_view(make_page: MakePage) -> None:
    runs = [write_run(name, [steps(1, [0.1] * 4)], DONE) for name in ("a", "b")]
    page = make_page()
    page._recorded.compare(runs)
    page.step = "train"
    page.set(epochs=3)  # as of a run that is resumed
    assert runs[0].id in page.code.code["compare"]
    page.step = "compare"
    page.set(comparison_steps=30)
    code = page.code.code["compare"]
    assert code.startswith("# As the form is now, not the recorded runs in view.")
    assert "wb.compare(" in code


def test_a_comparison_that_is_prepared_is_said_where_it_will_be(make_page: MakePage) -> None:
    page = make_page()
    said: list[str] = []
    page.comparison.ratios.observe(lambda change: said.append(change.new), "verdict")
    page.set(comparison_steps=10, base="no-such-run")
    page._controller.setup.refusals.clear()  # so that it fails only once it is prepared
    page.compare()
    assert page.wait(PATIENCE_S)
    assert said[0] == PREPARING.message
    assert said[-1] == PRESS_COMPARE


def test_a_recorded_comparison_is_opened_again_after_other_runs(make_page: MakePage) -> None:
    made = wb.compare("digits-mlp", engines=["fake"], steps=20).wait(PATIENCE_S)
    page = make_page(model="digits-mlp")
    until(lambda: "is ready" in page.status.message)
    said = "The step Compare shows a recorded comparison: fake on digits-mlp, "
    for _ in range(2):
        page._recorded.open(made.id)
        until(lambda: page.status.message.startswith(said))
        assert page._recorded.field.description.startswith("fake on digits-mlp, ")
        page._recorded.compare([*made.runs.values()])
        assert page.status.message == "The step Compare shows recorded runs."
        assert (page._recorded.field.value, page._recorded.field.description) == ("", "")


def test_a_module_of_the_notebook_and_its_data_are_restored(make_page: MakePage) -> None:
    random = np.random.default_rng(0)
    names = {
        "net": torch.nn.Linear(8, 3),
        "X": random.normal(size=(64, 8)).astype(np.float32),
        "y": random.integers(0, 3, 64),
    }
    page = make_page(model=None)
    page._controller.sources.names = lambda: names
    page.models.field.value, page.models.example_inputs.value = "net", "X"
    page.models.dataset.value = "X, y"
    page.set(steps=2)
    until(lambda: "is ready" in page.status.message)
    page.train()
    until(lambda: page.status.message.startswith("Trained net"))
    assert page.wait(PATIENCE_S)
    [run_id] = wb.runs()["id"]
    other = make_page(model=None)
    other._controller.sources.names = lambda: names
    other.models.example_inputs.value = "y"  # of another model
    other.restore(wb.load_run(run_id))
    fields = other.models.field, other.models.example_inputs, other.models.dataset
    assert [field.value for field in fields] == ["net", "X", "X, y"]
    until(lambda: other.models.layers.layers and other.models.data.title == "X, y")
    until(lambda: other.controls.usable() == ["Train", "Compare"])
    assert [field.problem for field in fields] == ["", "", ""]
    assert other.wait(PATIENCE_S)
    other._controller.sources.names = dict
    other.restore(wb.load_run(run_id))
    assert other.models.field.problem == "net is no sample: choose its file or module here."


def test_a_run_that_is_resumed_elsewhere_is_not_said_to_be_stopped(make_page: MakePage) -> None:
    page = make_page(model="digits-mlp", step_ms=20)
    until(lambda: "is ready" in page.status.message)
    page.train()
    until(lambda: page.trainer.charts.points("fake")[0].size > 2)
    page.stop()
    until(lambda: page.status.message.startswith("Stopped digits-mlp"))
    assert page.wait(PATIENCE_S)
    [run_id] = wb.runs()["id"]
    run = wb.resume(run_id)
    until(lambda: "is ready" in page.status.message)
    said = "The run of fake was resumed elsewhere; its charts are as read before."
    until(lambda: page.trainer.charts.caption == said)
    run.stop()
    run.wait(PATIENCE_S)
    page.train()
    until(lambda: page.trainer.charts.caption == "")


def test_a_run_of_a_module_of_the_notebook_is_exported_with_the_chosen_one(
    make_page: MakePage, tmp_path: Path
) -> None:
    random = np.random.default_rng(0)
    names = {
        "net": torch.nn.Linear(8, 3),
        "X": random.normal(size=(64, 8)).astype(np.float32),
        "y": random.integers(0, 3, 64),
    }
    model = wb.load_model(names["net"], example_inputs=names["X"], name="net")
    data = wb.load_dataset((names["X"],), names["y"], name="X, y")
    run = wb.train(model, data, engine="pytorch", steps=2).wait(PATIENCE_S)
    page = make_page(model=None)
    page._controller.sources.names = lambda: names
    page.runs.refresh()
    assert page.runs.wait(PATIENCE_S)
    page.runs._act("export", [run.id], str(tmp_path / "net.onnx"))
    until(lambda: page.runs.table.outcome == "error")
    assert "Execute the cell that defines net, or choose it in Model" in page.runs.table.message
    page.models.field.value, page.models.example_inputs.value = "net", "X"
    until(lambda: page.models.layers.layers)
    page.runs._act("export", [run.id], str(tmp_path / "net.onnx"))
    until(lambda: page.runs.table.message.startswith("Exported to"))
    assert (tmp_path / "net.onnx").is_file()


def test_a_comparison_of_another_module_of_the_same_name_is_not_of_the_chosen_one(
    make_page: MakePage,
) -> None:
    rows = np.zeros((40, 4), np.float32)
    data = wb.load_dataset(rows, np.arange(40) % 2, name="x, y")

    def net(layer: nn.Module) -> wb.Model:
        return wb.load_model(nn.Sequential(layer, nn.Linear(4, 2)), example_inputs=rows, name="net")

    before = net(nn.ReLU())
    runs = [wb.train(before, data, engine="fake", steps=8, seed=seed).wait() for seed in (1, 2)]
    page = make_page(model=net(nn.ReLU()))
    until(lambda: page.bar.title.startswith("net"))
    page.show(wb.compare_runs(runs))
    until(lambda: page.bar.verdict)
    assert page.comparison.ratios.subject == ""
    page.models.choose(net(nn.Tanh()))
    until(lambda: page.bar.verdict == "")
    assert page.comparison.ratios.subject == "another net"
    caption = "These charts are of another net; net is chosen for the next run."
    assert page.comparison.charts.caption == caption
    # Of both nets together it is neither of another one.
    other = wb.train(net(nn.Tanh()), data, engine="fake", steps=8).wait()
    page.show(wb.compare_runs([*runs, other]))
    until(lambda: page.comparison.charts.caption == "")
    assert page.comparison.ratios.subject == ""


def test_what_compare_shows_is_said_again_whenever_it_is_entered(make_page: MakePage) -> None:
    page = make_page(model="digits-mlp")
    page.set(steps=8)
    page.train()
    assert page.wait(PATIENCE_S)
    result = page.status.message
    assert result.startswith("Trained digits-mlp")
    runs = [wb.train("digits-mlp", engine="fake", steps=8, seed=seed).wait() for seed in (1, 2)]
    page.show(wb.compare_runs(runs))
    said = "The step Compare shows recorded runs."
    until(lambda: page.status.message == said)
    for _ in range(2):
        page.step = "runs"
        until(lambda: page.status.message == result)
        page.step = "compare"
        until(lambda: page.status.message == said)


def test_what_compare_showed_before_is_not_said_in_other_steps(make_page: MakePage) -> None:
    runs = [wb.train("digits-mlp", engine="fake", steps=8, seed=seed).wait() for seed in (1, 2)]
    compared = wb.compare("digits-mlp", engines=["fake"], steps=20).wait(PATIENCE_S)
    page = make_page(model="digits-mlp")
    until(lambda: page.status.message.startswith("digits-mlp is ready"))
    ready = page.status.message
    page.show(wb.compare_runs(runs))
    until(lambda: page.status.message == "The step Compare shows recorded runs.")
    page._recorded.open(compared.id)
    until(lambda: page.status.message.startswith("The step Compare shows a recorded comparison"))
    page.step = "runs"
    until(lambda: page.status.message == ready)

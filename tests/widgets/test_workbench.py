"""The page without a browser: what its buttons do, on real runs of the fake engine."""

from __future__ import annotations

import base64
import gc
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.controller.setting_fields import value_as_text
from workbench.widgets import Workbench
from workbench.widgets.app import workbench as app

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


def test_choosing_a_sample_shows_it_and_fills_what_suits_it(make_page: MakePage) -> None:
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
    assert base64.b64decode(page._figure.png).startswith(b"\x89PNG")
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


def test_a_comparison_waits_for_quiet_as_long_as_the_form_says(make_page: MakePage) -> None:
    page = make_page()
    page.set(quiet_s=3600)
    page.compare()
    until(lambda: "waiting for a quiet machine" in page.status.message)
    assert "waiting for a quiet machine" in page.trainer.charts.hint
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


def test_nothing_chosen_is_said(make_page: MakePage) -> None:
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


def test_show_follows_what_was_started_elsewhere(make_page: MakePage) -> None:
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
    assert names["comparison"].table().loc["fake", "status"] == "completed"


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


def test_one_step_at_a_time(make_page: MakePage) -> None:
    page = make_page(step_ms=5)
    page.train()
    until(lambda: page.trainer.charts.points("fake").shape[1] > 3)
    page.pause()
    until(lambda: page.status.level == "paused")
    time.sleep(0.5)
    held = page.trainer.charts.points("fake").shape[1]
    page.step_once()
    until(lambda: page.trainer.charts.points("fake").shape[1] == held + 1)
    until(lambda: page.status.level == "paused")
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
    before = threading.active_count()
    page = make_page()
    until(lambda: page.models.layers.layers)
    page.close()
    until(lambda: threading.active_count() <= before)

"""The small views: what they show is what they were given."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from workbench.compare import COLUMNS
from workbench.errors import ConfigError, EngineError
from workbench.models import Layer, load_model
from workbench.run_folder.statistics import ByPyTorch, Statistics
from workbench.widgets import engine_choice
from workbench.widgets.comparison_table import SHOWN, ComparisonTable
from workbench.widgets.controls import NAMES, Controls
from workbench.widgets.engine_choice import EngineChoice, engine_rows
from workbench.widgets.layer_table import LayerTable
from workbench.widgets.model_card import ModelCard
from workbench.widgets.run_statistics import RunStatistics
from workbench.widgets.settings_form import SettingsForm
from workbench.widgets.status import Status


def test_the_engines_are_asked_of_another_process() -> None:
    rows = {row["name"]: row for row in engine_rows()}
    assert {"pytorch", "pytorch-compile", "ondevice", "ortmodule", "fake"} <= rows.keys()
    assert rows["fake"]["ok"]
    assert set(rows["fake"]) == {"name", "description", "ok", "reason", "remedy"}


def test_an_engine_that_cannot_run_is_not_chosen_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rows() -> list[dict[str, Any]]:
        absent = {"ok": False, "reason": "It is not installed.", "remedy": "pip install it"}
        present = {"ok": True, "reason": "", "remedy": ""}
        return [
            {"name": "pytorch", "description": "", **present},
            {"name": "ortmodule", "description": "", **absent},
        ]

    monkeypatch.setattr(engine_choice, "engine_rows", rows)
    choice = EngineChoice(["pytorch", "ortmodule"])
    assert choice.value == ["pytorch", "ortmodule"]
    choice.look()
    assert choice.value == ["pytorch"]
    assert choice.rows[1]["reason"] == "It is not installed."


def test_engines_that_cannot_be_listed_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any, **__: Any) -> SimpleNamespace:
        return SimpleNamespace(returncode=1, stdout="", stderr="Traceback\n  ...\nOSError: no disk")

    monkeypatch.setattr(engine_choice.subprocess, "run", run)
    with pytest.raises(EngineError, match=r"^The engines could not be listed: OSError: no disk"):
        engine_rows()


def test_the_form_shows_defaults_and_gives_settings() -> None:
    form = SettingsForm()
    form.fill({"epochs": 20, "learning_rate": 0.01, "loss": "mse"})
    assert form.settings() == {
        "epochs": 20,
        "batch_size": 32,
        "learning_rate": 0.01,
        "optimizer": "adamw",
        "loss": "mse",
    }
    form.fill({})
    assert form.fields["epochs"].value == 1


@pytest.mark.parametrize(
    ("status", "usable"),
    [
        ("idle", {"Train", "Compare"}),
        ("starting", {"Stop"}),
        ("running", {"Pause", "Stop"}),
        ("paused", {"Resume", "Stop"}),
        ("completed", {"Train", "Compare"}),
        ("failed", {"Train", "Compare"}),
    ],
)
def test_only_buttons_that_make_sense_can_be_pressed(status: str, usable: set[str]) -> None:
    pressed: list[str] = []
    controls = Controls({name: (lambda name=name: pressed.append(name)) for name in NAMES})
    controls.show(status)
    assert {name for name, one in controls.buttons.items() if not one.disabled} == usable
    controls.buttons["Stop"].click()
    assert pressed == ["Stop"]


def test_the_status_shows_what_a_workbench_error_says_as_it_is() -> None:
    status = Status()
    status.show_error(ConfigError(["epochs=-1: too few."]))
    assert status.level == "error"
    assert status.message == "1 setting is wrong:\n  - epochs=-1: too few."
    status.show_error(KeyError("x"))
    assert "KeyError" in status.message
    assert "Traceback" not in status.message
    status.show("busy", "Training.", "step 3 of 9", 0.3)
    assert (status.level, status.detail, status.progress) == ("busy", "step 3 of 9", 0.3)


def test_the_card_needs_no_pytorch_and_the_layers_are_text() -> None:
    card = ModelCard()
    card.show(load_model("digits-mlp"))
    assert card.card
    assert ["Outputs", "logits: batch × 10, float32"] in card.facts  # noqa: RUF001
    table = LayerTable()
    table.show([Layer("hidden", "Linear", ("batch", 128), 8320, 33280)])
    assert table.layers[0]["output_shape"] == "batch × 128"  # noqa: RUF001
    table.show([Layer("hidden", "Linear", None, 8320, 33280)])
    assert table.layers[0]["output_shape"] == ""


def test_figures_that_are_no_numbers_are_left_out_of_the_table() -> None:
    words = {"status": "running", "in_stead": "PyTorch ran it.", "warning": "busy"}
    figures = dict.fromkeys(COLUMNS, 1.0) | {"ratio": math.nan} | words
    frame = pd.DataFrame([figures], index=pd.Index(["fake"], name="engine"))
    comparison = SimpleNamespace(
        table=lambda: frame, reference="fake", caption="here", warning="The machine was busy."
    )
    table = ComparisonTable()
    table.show(comparison)  # type: ignore[arg-type]
    [row] = table.rows
    assert row["engine"] == "fake"
    assert row["cells"]["ratio"] is None
    assert row["cells"]["samples_per_s"] == 1.0
    assert row["cells"]["status"] == "running"
    assert row["note"] == "PyTorch ran it."
    assert table.warning == "The machine was busy."
    json.dumps(table.rows, allow_nan=False)
    assert {column["key"] for column in table.columns} == set(SHOWN) <= set(COLUMNS)


def test_statistics_are_lines_and_what_pytorch_ran_is_a_note_where_wanted() -> None:
    ran = ByPyTorch(what="the module", why="it was asked to", calls=1, in_stead=True)
    run = SimpleNamespace(statistics=Statistics(engine="ortmodule", by_pytorch=(ran,)))
    shown: Any = {"pytorch": SimpleNamespace(statistics=None), "ortmodule": run}
    view = RunStatistics()
    view.show(shown, notes=True)
    [engine] = view.engines
    assert engine["engine"] == "ortmodule"
    assert engine["notes"] == ["PyTorch ran the module once: it was asked to."]
    assert engine["lines"][0] == {"name": "graphs", "value": "none", "level": 0}
    assert engine["lines"][1]["name"] == "in its stead"
    view.show(shown, notes=False)
    assert view.engines[0]["notes"] == []
    view.clear()
    assert view.engines == []

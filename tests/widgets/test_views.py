"""The small views: what they show is what they were given."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.controller.recording_view import until
from tests.runs.recorded import model as recorded_model
from workbench.compare import COLUMNS, Verdict
from workbench.controller import Setup
from workbench.controller.background import footprint_predictor
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.model.inspection import LayerRow
from workbench.controller.setup import COMPARISON_STEPS
from workbench.controller.tasks.task import Table, TaskResult
from workbench.errors import EngineError
from workbench.load import load_model
from workbench.models import Layer
from workbench.run_folder.statistics import ByPyTorch, Statistics
from workbench.widgets.app.offer_list import OfferList
from workbench.widgets.artifacts.artifact_builder import ArtifactBuilder
from workbench.widgets.artifacts.parameter_tree import ParameterTree
from workbench.widgets.compare.comparison_table import SHOWN, ComparisonTable
from workbench.widgets.model.choice_field import ChoiceField
from workbench.widgets.model.layer_table import LayerTable
from workbench.widgets.model.model_card import ModelCard
from workbench.widgets.page.controls import NAMES, Controls
from workbench.widgets.page.status import Status, time_left
from workbench.widgets.run_statistics import RunStatistics
from workbench.widgets.train.engine_choice import EngineChoice
from workbench.widgets.train.layer_statistics_view import LayerStatisticsView
from workbench.widgets.train.settings_form import SettingsForm


def test_an_engine_that_cannot_run_is_not_chosen_and_says_why() -> None:
    absent = {"ok": False, "reason": "It is not installed.", "remedy": "pip install it"}
    present = {"ok": True, "reason": "", "remedy": ""}
    rows = [
        {"name": "pytorch", "description": "", **present},
        {"name": "ortmodule", "description": "", **absent},
    ]
    choice = EngineChoice(["pytorch", "ortmodule"])
    assert choice.value == ["pytorch", "ortmodule"]
    choice.show(rows)
    assert choice.value == ["pytorch"]
    assert choice.rows[1]["reason"] == "Cannot run here: It is not installed."


def test_clicks_choose_engines_in_the_order_of_the_rows() -> None:
    choice = EngineChoice(["pytorch", "ondevice", "ortmodule"])
    clicks = [("pytorch", False), ("ortmodule", False), ("pytorch", True), ("ondevise", True)]
    seen = []
    for name, chosen in clicks:
        choice._handle_custom_msg({"kind": "choose", "name": name, "chosen": chosen}, [])
        seen.append(choice.value)
    both = ["pytorch", "ondevice"]
    assert seen == [["ondevice", "ortmodule"], ["ondevice"], both, both]


def test_only_engines_that_exist_can_be_offered() -> None:
    with pytest.raises(EngineError, match=r"no engine 'ondevise'\. Did you mean 'ondevice'"):
        EngineChoice(["ondevise"])


def typed_form() -> tuple[Setup, TypedSettings, SettingsForm]:
    setup = Setup()
    typed = TypedSettings(setup)
    return setup, typed, SettingsForm(typed)


def type_into(form: SettingsForm, name: str, text: str) -> None:
    """As the browser tells it."""
    form._handle_custom_msg({"kind": "type", "name": name, "text": text}, [])


def test_typed_settings_stay_when_another_model_is_chosen() -> None:
    setup, typed, form = typed_form()
    type_into(form, "learning_rate", "1e-2")
    type_into(form, "loss", "mse")
    typed.set_defaults({"epochs": 20, "learning_rate": 0.5})
    assert setup.settings == {"learning_rate": 0.01, "loss": "mse"}
    shown = {field["name"]: field for group in form.groups for field in group["fields"]}
    assert (shown["epochs"]["default"], shown["learning_rate"]["default"]) == ("20", "0.5")
    type_into(form, "learning_rate", "  ")
    assert setup.settings == {"loss": "mse"}
    assert form.texts == {"loss": "mse"}


@pytest.mark.fault
def test_a_wrong_value_is_shown_at_its_field_while_it_is_typed() -> None:
    setup, _, form = typed_form()
    type_into(form, "epochs", "-1")
    type_into(form, "batch_size", "many")
    assert form.problems == {
        "epochs": "Must be 1 or more.",
        "batch_size": "'many' is not an integer, such as 20.",
    }
    assert setup.settings == {"epochs": -1, "batch_size": "many"}
    type_into(form, "epochs", "3")
    type_into(form, "batch_size", "")
    assert form.problems == {}


def test_arguments_of_a_comparison_are_typed_too() -> None:
    setup, typed, _ = typed_form()
    typed.set(comparison_steps=70, quiet_s=2.5)
    assert (setup.comparison_steps, setup.quiet_s) == (70, 2.5)
    typed.set(comparison_steps=None)
    assert setup.comparison_steps == COMPARISON_STEPS


@pytest.mark.parametrize(
    ("status", "usable"),
    [
        ("idle", {"Train", "Compare"}),
        ("starting", {"Stop"}),
        ("running", {"Pause", "Stop"}),
        ("paused", {"Resume", "Step once", "Stop"}),
        ("completed", {"Train", "Compare"}),
        ("failed", {"Train", "Compare"}),
    ],
)
def test_only_buttons_that_make_sense_can_be_pressed(status: str, usable: set[str]) -> None:
    pressed: list[str] = []
    controls = Controls({name: (lambda name=name: pressed.append(name)) for name in NAMES})
    controls.show(status)
    assert set(controls.usable()) == usable
    for name in NAMES:
        controls._handle_custom_msg({"kind": "press", "name": name}, [])
    assert set(pressed) == usable


def test_train_names_its_model_and_dataset() -> None:
    controls = Controls({"Train": lambda: None, "Compare": lambda: None})
    train, compare = controls.buttons
    assert (train["label"], compare["label"]) == ("Train", "Compare")
    controls.suit(Setup(engines=["ondevice"]))
    assert controls.buttons[0]["label"] == "Train on ondevice"
    controls.show("running")
    controls.suit(Setup(engines=["pytorch", "ondevice", "ortmodule"]))
    [train, _] = controls.buttons
    assert train["label"] == "Train on 3 engines in turn"
    assert train["hint"] == "3 runs, one after another: pytorch, then ondevice, then ortmodule"
    assert not train["enabled"], "what is in progress stays known"
    for federation, label in (
        ({}, "Train on 8 clients"),
        ({"clients": 1}, "Train on 1 client"),
        ({"clients": "many"}, "Train on clients"),
    ):
        controls.suit(Setup(engines=["pytorch"], federation=federation))
        assert controls.buttons[0]["label"] == label


def test_profiling_has_a_button_where_the_graphs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the settings of the page; the graph is painted with what was found."""
    asked: list[Any] = []
    painted: list[Any] = []

    def profile(model: Any, data: Any, engine: str, *, report: Any, **settings: Any) -> Any:
        asked.append((model.name, data.name, engine, settings))
        report("tracing")
        return "found" if len(asked) == 1 else 1 / 0

    monkeypatch.setattr(footprint_predictor, "profile", profile)
    step = ArtifactBuilder("digits-mlp")
    monkeypatch.setattr(step.graph, "paint", painted.append)
    try:
        step.controller.typed.set(batch_size=4, epochs=3)
        until(lambda: step.status.message == "digits-mlp is ready.")  # no Train here
        assert step.profiler.enabled
        step.profiler._handle_custom_msg({"kind": "press"}, [])
        until(lambda: painted == ["found"])
        assert asked == [("digits-mlp", "digits", "ondevice", {"batch_size": 4})]
        until(lambda: step.profiler.enabled)
        step.profiler._handle_custom_msg({"kind": "press"}, [])
        until(lambda: "division by zero" in step.controller.state.message)
        assert step.profiler.enabled
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


@pytest.mark.fault
@pytest.mark.parametrize("content", [None, 5, [], "x", {}, {"kind": "type"}, {"kind": "patterns"}])
def test_a_message_that_makes_no_sense_is_ignored(content: object) -> None:
    typed = TypedSettings(Setup())
    step = ArtifactBuilder()
    for listen in (
        Controls({})._on_message,
        OfferList(lambda _: None)._on_message,
        SettingsForm(typed)._on_message,
        ParameterTree(typed)._on_message,
        ChoiceField()._on_message,
        step._on_button,
        *(section._on_message for section in step.sections),
    ):
        listen(None, content, [])  # type: ignore[arg-type]
    assert typed.texts == {}
    step.close()


def test_the_status_shows_its_message() -> None:
    status = Status()
    status.show("busy", "Training.", "step 3 of 9", 0.3, 200.0)
    assert (status.level, status.detail, status.progress) == ("busy", "step 3 of 9", 0.3)
    assert status.left == "about 3 min left"
    assert [time_left(seconds) for seconds in (-1, 0.2, 80, 7200)] == [
        *("", "about 1 s left", "about 80 s left", "about 2.0 h left")
    ]


def test_the_card_needs_no_pytorch_and_the_layers_are_text() -> None:
    card = ModelCard()
    card.show(load_model("digits-mlp"))
    assert card.card
    assert ["Outputs", "logits: batch × 10, float32"] in card.facts  # noqa: RUF001
    table = LayerTable()
    layer = Layer("hidden", "Linear", ("batch", 128), 8320, 33280)
    table.show([LayerRow(layer, "trains", "", 8192)])
    assert table.layers[0]["multiply_adds"] == 8192
    assert table.layers[0]["output_shape"] == "batch × 128"  # noqa: RUF001
    table.show([LayerRow(layer._replace(output_shape=None))])
    assert table.layers[0]["multiply_adds"] == -1
    assert table.layers[0]["output_shape"] == ""


def test_figures_that_are_no_numbers_are_left_out_of_the_table() -> None:
    words = {"status": "running", "pytorch_fallbacks": "PyTorch ran it.", "warning": "busy"}
    figures = dict.fromkeys(COLUMNS, 1.0) | {"ratio": math.nan} | words
    frame = pd.DataFrame([figures], index=pd.Index(["fake"], name="engine"))
    comparison = SimpleNamespace(
        table=lambda: frame,
        reference="fake",
        caption="here",
        verdict=lambda: Verdict("It was busy.", "busy", "busy"),
    )
    table = ComparisonTable()
    table.show(comparison)  # type: ignore[arg-type]
    [row] = table.rows
    assert row["engine"] == "fake"
    assert row["cells"]["ratio"] is None
    assert row["cells"]["samples_per_s"] == 1.0
    assert row["cells"]["status"] == "running"
    assert row["note"] == "PyTorch ran it."
    assert (table.verdict, table.level) == ("It was busy.", "busy")
    json.dumps(table.rows, allow_nan=False)
    assert {column["key"] for column in table.columns} == set(SHOWN) <= set(COLUMNS)


def test_statistics_are_lines_and_pytorch_fallbacks_optional_notes() -> None:
    ran = ByPyTorch(what="the module", why="it was asked to", calls=1, fallback=True)
    run = SimpleNamespace(statistics=Statistics(engine="ortmodule", by_pytorch=(ran,)))
    shown: Any = {"pytorch": SimpleNamespace(statistics=None), "ortmodule": run}
    view = RunStatistics()
    view.show(shown, notes=True)
    [engine] = view.engines
    assert engine["engine"] == "ortmodule"
    assert engine["notes"] == ["PyTorch ran the module once: it was asked to."]
    assert engine["lines"][0] == {"name": "graphs", "value": "none", "level": 0}
    assert engine["lines"][1]["name"] == "PyTorch fallback"
    view.show(shown, notes=False)
    assert view.engines[0]["notes"] == []
    view.clear()
    assert view.engines == []


def test_engines_that_need_a_module_are_left_out_for_an_onnx_file_and_come_back() -> None:
    choice = EngineChoice(["pytorch", "ondevice", "ortmodule"])
    choice.value = ["pytorch", "ondevice"]
    choice.suit(recorded_model())
    assert choice.value == ["ondevice"]
    states = {row["name"]: (row["ok"], row["reason"]) for row in choice.rows}
    assert states["ondevice"] == (True, "")
    for name in ("pytorch", "ortmodule"):
        assert states[name] == (False, "Cannot train line: an ONNX file has no nn.Module.")
    choice.value = []  # the box that is left is unticked
    choice.suit(load_model("digits-mlp"))
    assert choice.value == ["pytorch"], "what was unticked stays so, what was left out is back"
    assert all(row["ok"] for row in choice.rows)
    choice.suit(recorded_model())
    choice.suit(None)
    assert choice.value == ["pytorch"]


def test_an_engine_that_cannot_run_here_cannot_be_chosen_for_any_model() -> None:
    absent = {"ok": False, "reason": "It is not installed.", "remedy": "pip install it"}
    choice = EngineChoice(["pytorch", "ondevice"])
    choice.suit(recorded_model())
    rows = [
        {"name": "pytorch", "description": "", "ok": True, "reason": "", "remedy": ""},
        {"name": "ondevice", "description": "", **absent},
    ]
    choice.show(rows)
    assert choice.value == []
    choice.suit(None)
    assert choice.value == ["pytorch"]
    assert choice.rows[1]["reason"] == "Cannot run here: It is not installed."


def test_evaluations_and_layers_of_several_engines_are_kept_apart() -> None:
    view = LayerStatisticsView()
    names = {"event": "layers", "names": ["a", "b"]}
    step = {"event": "layer_statistics", "step": 5, "update_ratios": [0.5, None]}
    view.add("one", [names, {**step, "gradient_norms": [1.0, 2.0]}])
    view.add("two", [])
    assert view.engines == [], "nothing is sent before it is asked for"
    view.flush()
    [shown] = view.engines
    assert (shown["engine"], shown["layers"], shown["steps"]) == ("one", ["a", "b"], [5])
    values = np.frombuffer(shown["values"], np.float32)
    np.testing.assert_array_equal(values, [1.0, 2.0, 0.5, np.nan])
    view.add("one", [], restored_step=4)
    view.flush()
    assert view.engines == []
    view.clear()
    view.add("one", [names, {**step, "gradient_norms": [1e300, 0.0]}])
    view.flush()
    assert np.frombuffer(view.engines[0]["values"], np.float32)[0] == np.inf

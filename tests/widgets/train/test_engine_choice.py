"""The choice of engines: by clicks, and only of those that can train the model here."""

from __future__ import annotations

import pytest

from tests.runs.recorded import model as recorded_model
from workbench.errors import EngineError
from workbench.load import load_model
from workbench.widgets.train.engine_choice import EngineChoice


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


def test_engines_that_need_a_module_are_left_out_for_an_onnx_file_and_come_back() -> None:
    choice = EngineChoice(["pytorch", "ondevice", "ortmodule"])
    choice.value = ["pytorch", "ondevice"]
    choice.update_for(recorded_model())
    assert choice.value == ["ondevice"]
    states = {row["name"]: (row["ok"], row["reason"]) for row in choice.rows}
    assert states["ondevice"] == (True, "")
    for name in ("pytorch", "ortmodule"):
        assert states[name] == (False, "Cannot train line: an ONNX file has no nn.Module.")
    choice.value = []  # the box that is left is unticked
    choice.update_for(load_model("digits-mlp"))
    assert choice.value == ["pytorch"], "what was unticked stays so, what was left out is back"
    assert all(row["ok"] for row in choice.rows)
    choice.update_for(recorded_model())
    choice.update_for(None)
    assert choice.value == ["pytorch"]


def test_an_engine_that_cannot_run_here_cannot_be_chosen_for_any_model() -> None:
    absent = {"ok": False, "reason": "It is not installed.", "remedy": "pip install it"}
    choice = EngineChoice(["pytorch", "ondevice"])
    choice.update_for(recorded_model())
    rows = [
        {"name": "pytorch", "description": "", "ok": True, "reason": "", "remedy": ""},
        {"name": "ondevice", "description": "", **absent},
    ]
    choice.show(rows)
    assert choice.value == []
    choice.update_for(None)
    assert choice.value == ["pytorch"]
    assert choice.rows[1]["reason"] == "Cannot run here: It is not installed."

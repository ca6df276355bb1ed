"""The form of ORTModule's options without a browser: every option, and what it hands over."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.settings.ortmodule_options import DEFAULTS, ORTModuleOptions, make_options
from workbench.widgets import Workbench
from workbench.widgets.train.ortmodule_form import ORTModuleForm

PATIENCE_S = 90


def test_every_option_has_a_field_with_its_words_and_default() -> None:
    fields = [field for group in ORTModuleForm().groups for field in group["fields"]]
    assert sorted(field["name"] for field in fields) == sorted(ORTModuleOptions.model_fields)
    for field in fields:
        assert field["label"]
        assert field["description"]
        shown = make_options({field["name"]: field["default"]})
        assert shown == DEFAULTS, field
        for choice in field["choices"]:
            make_options({field["name"]: choice})


def test_only_changed_options_are_passed_on() -> None:
    form = ORTModuleForm()
    assert form.value == {}
    form.value = {"threads": 2, "recompute_config": "Gelu+:1:-1, Softmax+:1:2"}
    options = make_options(form.value)
    assert options.changed == {"threads": 2, "recompute_config": ("Gelu+:1:-1", "Softmax+:1:2")}


def test_a_wrong_option_is_marked_at_its_field() -> None:
    form = ORTModuleForm()
    form.value = {"threads": -1, "recompute_config": "gelu", "saved_graphs": "graphs"}
    assert form.problems.keys() == {"threads", "recompute_config"}
    assert form.problems["threads"] == "Must be 1 or more."
    assert form.problems["recompute_config"].startswith("Must be operators:kind:count, such as")
    form.value = {"recompute_config": "Gelu+:1:-1", "memory_optimizer_level": 1}
    assert list(form.problems) == ["memory_optimizer_level"]
    form.value = {}
    assert form.problems == {}


def test_options_of_the_page_reach_runs_and_wrong_ones_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", "{}")
    page = Workbench("digits-mlp", engines=["fake"])
    try:
        page.set(epochs=1)
        page.trainer.ortmodule.value = {"memory_optimizer_level": 1}
        page.train()
        assert page.wait(PATIENCE_S)
        (name,) = wb.runs()["id"]
        assert wb.load_run(name).config.ortmodule.changed == {"memory_optimizer_level": 1}
        page.set(comparison_steps=20)
        page.compare()
        assert page.wait(PATIENCE_S)
        runs = [wb.load_run(each) for each in wb.runs()["id"]]
        assert [run.config.ortmodule.memory_optimizer_level for run in runs] == [1, 1]
        page.trainer.ortmodule.value = {"threads": -1}
        page.train()
        assert page.wait(PATIENCE_S)
        assert page.status.message == "1 setting is wrong: Threads (in Train). The field says why."
        notes = {step["name"]: step["note"] for step in page.bar.steps}
        assert (notes["train"], notes["compare"]) == ("1 wrong setting",) * 2
        assert len(wb.runs()) == 2
        page.trainer.ortmodule.value = {}
        assert "wrong" not in page.status.message
    finally:
        page.close()

"""Settings that refer to parameters, runs and files are checked while they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.runs.written import write_run
from workbench.controller.forms.reference_problems import NOTHING
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.setup import Setup
from workbench.load import load_model
from workbench.models import Model


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model("digits-cnn")


@pytest.mark.fault
def test_a_pattern_of_no_parameter_is_marked_once_the_model_is_known(model: Model) -> None:
    typed = TypedSettings(Setup())
    first = model.parameter_names[0]
    typed.type("requires_grad", f"{first}, {first}x")
    assert typed.read.problems == {}
    typed.know(model)
    assert list(typed.read.problems) == ["requires_grad"]
    sentence = typed.read.problems["requires_grad"]
    assert sentence.startswith(f"No parameter matches '{first}x'. Did you mean '{first}'")
    typed.type("requires_grad", "*.bias")
    assert typed.read.problems == {}
    typed.type("requires_grad", "head.*")
    assert list(typed.read.problems) == ["requires_grad"]
    typed.type("requires_grad", NOTHING)  # a tree in which no box is checked
    assert typed.read.problems["requires_grad"].startswith("Nothing would be trained: choose")
    typed.know(None)
    assert typed.read.problems == {}


@pytest.mark.fault
def test_a_batch_larger_than_the_data_is_marked_once_the_data_is_known() -> None:
    typed = TypedSettings(Setup())
    typed.type("batch_size", "999,999")
    assert typed.read.problems == {}
    typed.know_data(1438)
    said = "There are 1,438 training rows, fewer than a batch of 999,999: give at most that."
    assert typed.read.problems == {"batch_size": said}
    typed.type("batch_size", "1438")
    assert typed.read.problems == {}
    typed.type("batch_size", "many")
    assert "is not an integer" in typed.read.problems["batch_size"]
    typed.type("batch_size", "1439")
    typed.know_data(None)
    assert typed.read.problems == {}


def test_a_memory_limit_below_what_every_worker_takes_is_marked() -> None:
    typed = TypedSettings(Setup())
    typed.type("memory_limit_bytes", "5 MB")
    said = "A worker takes more before its first step: 50 MB or more."
    assert typed.read.problems == {"memory_limit_bytes": said}
    typed.type("memory_limit_bytes", "50 MB")
    assert typed.read.problems == {}


def test_parameters_chosen_in_one_model_are_no_choice_in_another(model: Model) -> None:
    other = load_model("digits-mlp")
    typed = TypedSettings(Setup())
    typed.know(model)
    typed.type("requires_grad", "conv1.*")
    typed.type("epochs", "3")
    typed.know(None)  # while the other is loaded
    typed.know(other)
    assert typed.texts == {"epochs": "3"}
    assert typed.read.problems == {}
    typed.type("requires_grad", "*.bias")
    typed.know(model)
    assert "requires_grad" not in typed.texts, "also where it has parameters of these names"
    typed.know(None)
    typed.set(requires_grad=["*.bias"])  # for what is chosen next, as a restored run does
    typed.know(other)
    assert typed.texts["requires_grad"] == "*.bias"
    typed.type("requires_grad", "wrong")  # wrong before: what was typed is kept
    typed.know(None)
    typed.know(model)
    assert typed.texts["requires_grad"] == "wrong"


@pytest.mark.fault
def test_what_lora_cannot_adapt_is_marked_at_its_field(model: Model) -> None:
    typed = TypedSettings(Setup())
    typed.know(model)
    typed.type("lora", "yes")
    assert typed.read.problems == {}
    typed.type("lora.rank", "64")
    assert list(typed.read.problems) == ["lora.rank"]
    sentence = typed.read.problems["lora.rank"]
    assert sentence.startswith(
        "64 is larger than a dimension of 'output.weight', of shape [10, 128]"
    )
    typed.type("lora.targets", "conv1.*, nothing")
    assert typed.read.problems["lora.targets"].startswith(
        "Pattern 'conv1.*' matches 'conv1.weight'"
    )
    typed.type("lora.rank", "-1")
    typed.type("lora.targets", "")
    assert typed.read.problems == {"lora.rank": "Must be 1 or more."}
    typed.type("lora", "no")
    assert typed.read.problems == {}


@pytest.mark.fault
def test_initial_weights_that_do_not_exist_are_marked(tmp_path: Path) -> None:
    typed = TypedSettings(Setup())

    def problem_of(base: str) -> str:
        typed.type("base", base)
        return typed.read.problems.get("base", "")

    assert problem_of(str(tmp_path / "w.safetensors")).startswith("There is no file '")
    assert "pickles" in problem_of("weights.pt")
    assert problem_of("no-such-run").startswith("No run 'no-such-run' in ")
    assert problem_of("x" * 5000).startswith("No run 'xxx")
    (tmp_path / "w.safetensors").write_bytes(b"")
    assert problem_of(str(tmp_path / "w.safetensors")) == ""
    assert problem_of(write_run("base", [], {"status": "completed"}).id) == ""
    assert problem_of("sketch-cnn") == ""


@pytest.mark.fault
def test_excepted_weights_may_be_parameters_buffers_or_of_the_base(
    model: Model, tmp_path: Path
) -> None:
    typed = TypedSettings(Setup())
    typed.know(model)
    typed.type("base_except", "*.running_mean")
    assert typed.read.problems == {
        "base_except": "Applies only with Initial weights: fill in that field too."
    }
    path = tmp_path / "base.safetensors"
    save_file({"extra.weight": np.zeros(2, np.float32)}, path)
    typed.type("base", str(path))
    assert typed.read.problems == {}
    for pattern in ("*.weight", "extra.*"):
        typed.type("base_except", pattern)
        assert typed.read.problems == {}
    typed.type("base_except", "extra.bias")
    assert typed.read.problems["base_except"].startswith("No weight matches 'extra.bias'.")


@pytest.mark.fault
def test_a_tuning_that_is_no_file_of_one_is_marked(tmp_path: Path) -> None:
    typed = TypedSettings(Setup())

    def problem_of(tuning: str) -> str:
        typed.type("tuning", tuning)
        return typed.read.problems.get("tuning", "")

    assert problem_of("of") == "There is no file 'of': give kept, off, or its path."
    assert problem_of("off") == ""
    assert "There is no file '~no-such-user/of'" in problem_of("~no-such-user/of")
    path = tmp_path / "tuning.json"
    path.write_text(json.dumps({"kind": "other"}))
    assert "is not a file that workbench tune wrote: it " in problem_of(str(path))

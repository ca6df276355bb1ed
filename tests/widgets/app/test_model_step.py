"""The page without a browser: the model and the dataset that are chosen, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import workbench as wb
from tests.controller.recording_view import PATIENCE_S, until
from tests.widgets.app.conftest import MakePage
from workbench.controller.forms.setting_fields import value_as_text
from workbench.errors import ModelError
from workbench.widgets import ArtifactBuilder, ModelView, Trainer, Workbench
from workbench.widgets.model.hints import LAYERS_HINT


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
    until(lambda: page.status.message == "Choose a model to begin.")  # it was of the model before


def test_a_csv_file_needs_its_target_column(make_page: MakePage, tmp_path: Path) -> None:
    path = tmp_path / "flowers.csv"
    path.write_text("length,width,kind\n" + "1,2,a\n3,4,b\n" * 10, encoding="utf-8")
    page = make_page(None)
    step = page.models
    assert step.target.layout.display == "none"
    step.dataset.value = str(path)
    assert step.target.layout.display is None
    assert [each["value"] for each in step.target.options] == ["length", "width", "kind"]
    until(lambda: step.target.problem)
    assert step.target.problem == (
        f"Choose the target of {path} in the field Target: it is one of length, width, kind."
    )
    assert (step.dataset.problem, step.data.problem) == ("", "")
    step.target.value = "kind"
    until(lambda: step.data.counts)
    until(lambda: [each["name"] for each in step.data.counts] == ["a", "b"])
    until(lambda: step.target.problem == "")
    page.models.choose("digits-mlp")
    until(lambda: f"wb.load_dataset({str(path)!r}, 'kind')" in page.code.code["train"])
    step.groups.value = "width"
    until(lambda: ", 'kind', groups='width')" in page.code.code["train"])
    until(lambda: ["Groups", "2, one client each"] in map(list, step.data.facts))
    step.dataset.value = "digits"
    assert step.target.layout.display == step.groups.layout.display == "none"
    until(lambda: "flowers" not in page.code.code["train"])


def test_the_target_of_an_npz_file_is_chosen(make_page: MakePage, tmp_path: Path) -> None:
    path = tmp_path / "pixels.npz"
    kinds = np.arange(40) % 2
    np.savez(path, pixels=np.ones((40, 64), np.float32), kind=kinds, y=kinds)
    page = make_page(None)
    step = page.models
    step.dataset.value = str(path)
    assert (step.target.layout.display, step.groups.layout.display) == (None, "none")
    assert [each["value"] for each in step.target.options] == ["pixels", "kind", "y"]
    until(lambda: step.data.counts)
    until(lambda: step.target.problem == "")  # y is taken by its name
    step.target.value = "kinds"
    until(lambda: "has no member 'kinds'" in step.target.problem)
    np.savez(path, pixels=np.ones((40, 64), np.float32), kind=kinds)
    step.target.value = ""
    until(lambda: step.target.problem.startswith(f"Choose the target of {path} in the field"))
    step.target.value = "kind"
    until(lambda: step.data.counts and not step.target.problem)
    page.models.choose("digits-mlp")
    until(lambda: f"wb.load_dataset({str(path)!r}, 'kind')" in page.code.code["train"])
    page.models.choose_dataset("")
    page.models.choose_dataset(str(path), "kind, pixels")
    assert step.target.value == "kind, pixels", "several, one per loss"


def test_a_refused_dataset_is_marked_at_its_field(make_page: MakePage) -> None:
    page = make_page("digits-mlp")
    step = page.models
    until(lambda: step.data.counts)
    step.dataset.value = "no-such-file.npz"
    until(lambda: "no-such-file.npz" in step.dataset.problem)
    until(lambda: step.data.problem == "")  # it is said once
    until(lambda: page.controls.usable() == [])
    for button in page.controls.buttons[:2]:
        assert button["hint"] == f"The dataset cannot be loaded: {step.dataset.problem}"
    step.dataset.value = "breast-cancer"
    assert page.controls.usable() == ["Train", "Compare"], "while it is loaded"
    until(lambda: "but the rows of dataset" in step.dataset.problem)
    until(lambda: step.data.title == "breast-cancer")  # its rows are shown all the same
    until(lambda: page.controls.usable() == [])
    until(lambda: page.trainer.charts.hint == "Choose data that fit the model, then press Train.")
    assert "but the rows of dataset" in page.controls.buttons[0]["hint"]
    step.dataset.value = ""
    until(lambda: step.data.title == "digits")
    until(lambda: page.controls.usable() == ["Train", "Compare"])
    until(lambda: step.dataset.problem == "")
    page.set(loss="mse")
    until(lambda: "mse" in page.controls.buttons[0]["hint"])
    assert step.data.problem == step.dataset.problem == "", "it was chosen in Train"
    assert page.controls.usable() == []
    until(lambda: page.trainer.charts.hint == "Choose a loss function that fits, then press Train.")
    until(lambda: "mse" in page.trainer.form.problems.get("loss", ""))
    assert page.status.message == page.trainer.form.problems["loss"]
    page._controller.typed.type("loss", "mse ")
    assert "mse" in page.trainer.form.problems["loss"], "the same loss, typed otherwise"
    page.set(loss=None)
    assert page.trainer.form.problems == {}, "at once: it was of the loss before"
    until(lambda: page.controls.usable() == ["Train", "Compare"])


def test_a_refused_example_input_is_marked_at_its_field(make_page: MakePage) -> None:
    page = make_page(None)
    step = page.models
    names = {"net": torch.nn.Linear(3, 2), "x": np.ones((4, 5), np.float32)}
    page._controller.sources.names = lambda: names
    levels: list[str] = []
    page.status.observe(lambda change: levels.append(change.new), "level")
    step.field.value = "net"
    until(lambda: "name an example input" in page.status.message)
    until(lambda: page.models.example_inputs.description.startswith("Needed now."))
    assert step.example_inputs.problem == "", "nothing is wrong yet"
    until(lambda: page.bar.steps[0]["note"] == "needs an example input")
    step.example_inputs.value = "xx"
    until(lambda: levels.count("busy") == 2)  # all was said of the choice without an example
    assert levels[: levels.index("busy", 1)] == ["busy", "idle"], "nothing was wrong yet"
    until(lambda: "The notebook has no 'xx'" in step.example_inputs.problem)
    step.example_inputs.value = "x"
    until(lambda: "fails on inputs of shape (4, 5)" in step.example_inputs.problem)
    until(lambda: step.field.problem == "")
    assert not step.example_inputs.description.startswith("Needed now.")
    step.field.value = "digits-mpl"
    until(lambda: "digits-mlp" in step.field.problem and not step.example_inputs.problem)


def test_a_refused_model_cannot_be_trained_until_it_loads(make_page: MakePage) -> None:
    page = make_page(None)
    names: dict[str, object] = {}
    page._controller.sources.names = lambda: names
    field = page.models.field
    field.value = "net"
    until(lambda: "net" in page.controls.buttons[0]["hint"])
    until(lambda: page.controls.usable() == [])
    for button in page.controls.buttons[:2]:
        assert button["hint"] == f"The model cannot be loaded: {field.problem}"
    names["net"] = wb.load_model("digits-mlp")
    field._handle_custom_msg({"kind": "again"}, [])
    until(lambda: page.controls.usable() == ["Train", "Compare"])
    until(lambda: page.models.model is names["net"])
    until(lambda: field.problem == "")


def test_a_model_without_a_dataset_cannot_be_trained_until_one_is_chosen(
    make_page: MakePage,
) -> None:
    page = make_page(None)
    names = {"net": torch.nn.Linear(64, 10), "x": np.ones((4, 64), np.float32)}
    page._controller.sources.names = lambda: names
    page.models.field.value = "net"
    page.models.example_inputs.value = "x"
    until(lambda: page.models.model is not None and page.controls.usable() == [])
    needs = "net needs a dataset: choose one in the step Model."
    until(lambda: page.status.message == needs)
    until(lambda: [each["hint"] for each in page.controls.buttons[:2]] == [needs] * 2)
    choose = "Choose a dataset in the step Model, then press Train."
    until(lambda: page.trainer.charts.hint == choose)
    page.models.dataset.value = "no-such"
    until(lambda: "The dataset cannot be loaded: " in page.controls.buttons[0]["hint"])
    page.models.dataset.value = "x, x"
    until(lambda: page.controls.usable() == ["Train", "Compare"])
    page.models.field.value = "digits-mlp"
    page.models.dataset.value = ""
    until(lambda: page.models.data.counts and page.controls.usable() == ["Train", "Compare"])
    until(lambda: page.trainer.charts.hint == "Press Train.")


def test_a_long_text_that_names_no_example_input_is_shortened(make_page: MakePage) -> None:
    page = make_page(None)
    page._controller.sources.names = lambda: {"net": torch.nn.Linear(3, 2)}
    page.models.field.value = "net"
    page.models.example_inputs.value = "y" * 10_000
    until(lambda: "The notebook has no" in page.models.example_inputs.problem)
    until(lambda: "yyy...yyy" in page.models.example_inputs.problem)
    until(lambda: len(page.models.example_inputs.problem) < 400)


def test_a_module_of_the_notebook_is_chosen_by_the_name_that_it_has_there(
    make_page: MakePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = torch.nn.Linear(4, 3)
    monkeypatch.setitem(vars(sys.modules["__main__"]), "my_net", net)
    page = make_page(model=net)
    until(lambda: "name an example input" in page.status.message)
    until(lambda: page.models.field.value == "my_net")


def test_the_data_of_an_own_module_are_away_while_a_sample_is_chosen(make_page: MakePage) -> None:
    page = make_page(None)
    step = page.models
    labels = torch.randint(0, 3, (64,))
    net = torch.nn.Linear(4, 3)
    names = {"net": net, "net2": net, "x": torch.randn(64, 4), "labels": labels}
    page._controller.sources.names = lambda: names

    def choose(name: str) -> tuple[str, str]:
        step.field.value = name
        until(lambda: f"{name} is ready" in page.status.message)
        return step.example_inputs.value, step.dataset.value

    step.field.value, step.example_inputs.value, step.dataset.value = "net", "x", "x, labels"
    assert choose("net") == ("x", "x, labels")
    assert choose("digits-mlp") == ("", "")
    assert choose("net") == ("x", "x, labels")
    # What was chosen between is no model, or none.
    for other in ("digits-mpl", ""):
        step.field.value = other
        until(lambda: page.models.model is None)
        assert choose("digits-mlp") == ("", "")
        assert choose("net") == ("x", "x, labels")
    page.models.choose("digits-mlp")
    until(lambda: "digits-mlp is ready" in page.status.message)
    assert (step.example_inputs.value, step.dataset.value) == ("", "")
    # Each has its own, of what has none what is typed stays, and what was cleared stays so.
    assert choose("net") == ("x", "x, labels")
    assert choose("net2") == ("x", "x, labels")
    step.dataset.value = ""
    until(lambda: "net2 needs a dataset" in page.status.message)
    assert choose("net") == ("x", "x, labels")
    assert choose("digits-cnn") == ("", "")
    step.field.value = "net2"
    until(lambda: "net2 needs a dataset" in page.status.message)
    assert (step.example_inputs.value, step.dataset.value) == ("x", "")


def test_so_are_those_of_a_module_that_was_refused(make_page: MakePage) -> None:
    page = make_page(None)
    step = page.models
    step.field.value, step.example_inputs.value, step.dataset.value = "no_such", "x", "x, labels"
    until(lambda: step.field.problem)
    step.field.value = "digits-mlp"
    until(lambda: "digits-mlp is ready" in page.status.message)
    assert (step.example_inputs.value, step.dataset.value) == ("", "")
    step.field.value = "no_such"
    assert (step.example_inputs.value, step.dataset.value) == ("x", "x, labels")


def test_from_sample_to_sample_a_typed_dataset_stays(make_page: MakePage) -> None:
    page = make_page("digits-mlp")
    page.models.dataset.value = "digits"
    page.models.field.value = "digits-cmn"  # refused
    until(lambda: page.models.field.problem)
    page.models.field.value = "digits-cnn"
    until(lambda: "digits-cnn is ready" in page.status.message)
    assert page.models.dataset.value == "digits"


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
    (tmp_path / "interrupted.py").write_text("def build():\n    raise KeyboardInterrupt\n")
    page.models.choose("interrupted:build")
    assert "ends the program" not in page.models.field.problem, "of the choice before"
    until(lambda: "KeyboardInterrupt" in page.models.field.problem)
    until(lambda: page.models.layers.hint == LAYERS_HINT)  # nothing is being built any more
    page.models.choose("digits-mlp")
    until(lambda: "digits-mlp is ready" in page.status.message)


def test_layers_that_are_frozen_in_another_step_say_so(make_page: MakePage) -> None:
    page = make_page("digits-mlp")

    def states() -> list[str]:
        return [layer["state"] for layer in page.models.layers.layers if layer["parameters"]]

    until(lambda: states() == ["trains"] * 3)
    page.set(requires_grad=["output.*"])
    assert states() == ["frozen", "frozen", "trains"]
    trainable = "Trainable parameters: 17,226 of 17,226 elements."
    chosen = "Chosen to be trained: 2 of 6 parameters, 650 of 17,226 elements."
    until(lambda: page.models.card.verdict.endswith(f"{trainable} {chosen}"))
    page.set(requires_grad=["output.bias"])
    until(lambda: states() == ["frozen", "frozen", "part"])
    page.set(requires_grad=None)
    assert states() == ["trains"] * 3
    assert page.models.card.verdict.endswith(trainable)

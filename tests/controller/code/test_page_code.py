"""The Python beside the page does what the page does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import workbench as wb
from workbench.controller.code.page_code import code_for
from workbench.controller.setup import Setup

LINEAR = f"""<ir_version: 8, opset_import: ["" : 17]>
linear (float[N,1,8,8] image) => (float[N,2] logits)
<float[64,2] weight = {{{", ".join(["0.5"] * 128)}}}> {{
    rows = Flatten(image)
    logits = MatMul(rows, weight)
}}"""


def test_a_class_of_the_user_is_not_taken_for_one_of_the_workbench() -> None:
    class Model(torch.nn.Linear):
        """Named as so many are."""

    class Dataset(torch.utils.data.TensorDataset):
        """As well."""

    names = {
        "net": Model(3, 2),
        "rows": Dataset(torch.zeros(4, 3), torch.zeros(4, dtype=torch.int64)),
        "x": np.zeros((4, 3), np.float32),
    }
    setup = Setup(model="net", dataset="rows", example_inputs="x", engines=["fake"])
    code = code_for(setup, "train", names)
    assert "model = wb.load_model(net, example_inputs=x, name='net')" in code
    assert "data = wb.load_dataset(rows, name='rows')" in code


def test_objects_of_the_notebook_are_used_by_name() -> None:
    names = {"mine": wb.load_model("digits-mlp"), "rows": wb.load_dataset("digits")}
    code = code_for(Setup(model="mine", dataset="rows", engines=["fake"]), "train", names)
    assert "model = mine\n" in code
    assert "data = rows\n" in code


@pytest.mark.parametrize("step", ["model", "artifacts", "train", "compare"])
def test_code_does_not_replace_the_objects_that_it_is_made_from(step: str) -> None:
    """Else the cell could not be run again."""
    names = {
        "model": torch.nn.Linear(3, 2),
        "data": np.zeros((4, 3), np.float32),
        "y": [0, 1, 0, 1],
    }
    setup = Setup(model="model", dataset="data, y", example_inputs="data", engines=["fake"])
    setup.tasks = {"bundle": {}, "nominal": {}}
    code = code_for(setup, step, names)
    assert "wb_model = wb.load_model(model, example_inputs=data, name='model')\n" in code
    assert "wb_data = wb.load_dataset((data,), y, name='data, y')\n" in code
    rest = [line for line in code.splitlines() if " = wb.load_" not in line]
    assert re.findall(r"(?<![\w.])(?:model|data)\b(?!=)", "\n".join(rest)) == [], code


@pytest.mark.parametrize("step", ["model", "artifacts", "train", "compare"])
def test_code_replaces_no_object_of_the_notebook_but_those_of_a_cell_like_it(step: str) -> None:
    rows = np.zeros((4, 3), np.float32)
    own = {"net": torch.nn.Linear(3, 2), "x": rows, "y": [0, 1, 0, 1]}
    others = {"model": object(), "data": "mine", "run": print, "graph": {}, "wb_run": 7}
    setup = Setup(model="net", dataset="x, y", example_inputs="x", engines=["fake"], profiled=True)
    code = code_for(setup, step, own | others)
    assigned = set(re.findall(r"^(\w+) = ", code, re.MULTILINE))
    assert assigned & set(others) == set()
    assert {"wb_model", "wb_data"} <= assigned
    compile(code, "cell", "exec")
    before = {"model": wb.load_model("digits-mlp"), "data": wb.load_dataset("digits")}
    assert "wb_" not in code_for(setup, step, own | before)


def test_the_target_column_is_named_with_its_file() -> None:
    setup = Setup(model="digits-mlp", dataset="a/flowers.csv", target="kind", engines=["fake"])
    assert "data = wb.load_dataset('a/flowers.csv', 'kind')\n" in code_for(setup, "train", {})
    setup.dataset = "digits"
    assert "data = wb.load_dataset('digits')\n" in code_for(setup, "train", {})


@pytest.mark.parametrize("step", ["train", "compare"])
def test_the_base_is_in_the_code_of_either(step: str) -> None:
    setup = Setup(model="digits-mlp", engines=["fake"], base="run", base_except=("head.*",))
    code = code_for(setup, step, {})
    assert "base='run'" in code
    assert "base_except=('head.*',)" in code


@pytest.mark.parametrize("step", ["model", "artifacts", "train", "compare"])
@pytest.mark.parametrize("model", ["net", "mine", "my.onnx", "package.module:factory"])
def test_without_a_dataset_the_code_asks_for_one(step: str, model: str) -> None:
    mine = wb.load_model(torch.nn.Linear(3, 2), example_inputs=np.zeros((4, 3), np.float32))
    names = {"net": torch.nn.Linear(3, 2), "x": np.zeros((4, 3), np.float32), "mine": mine}
    setup = Setup(model=model, example_inputs="x", engines=["fake"])
    setup.tasks |= {"verify": {}, "bundle": {}}
    code = code_for(setup, step, names)
    assert "# Choose a dataset first.\n" in code
    assert "load_dataset" not in code
    assert "artifacts." not in code
    assert ("wb.verify(model)" in code) == (step == "artifacts"), "it needs no dataset"
    if model in names and step != "model":  # whose check exports the model
        exec(code.replace("wb.verify(model)", "None"), {"wb": wb, **names})


def test_a_cell_with_the_code_of_the_model_shows_what_the_step_shows(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(LINEAR), tmp_path / "linear.onnx")
    code = code_for(Setup(model=str(tmp_path / "linear.onnx"), dataset="digits"), "model", {})
    shell = InteractiveShell.instance()
    try:
        with capture_output() as shown:
            shell.run_cell(code).raise_error()
    finally:
        InteractiveShell.clear_instance()
    layers, check, data = (each.data["text/plain"] for each in shown.outputs)
    assert "MatMul" in layers
    assert "linear can be trained with ONNX Runtime" in check
    assert "1438 rows" in data


def test_the_code_profiles_only_profiled_engines() -> None:
    setup = Setup(model="digits-mlp")
    assert "wb.profile" not in code_for(setup, "artifacts", {})
    setup.profiled = True
    code = code_for(setup, "artifacts", {})
    lines = ["profile = wb.profile(model, data, engine='ondevice')", "graph.paint(profile)"]
    assert "\n".join([*lines, "display(graph)", ""]) in code


def test_an_example_input_that_was_left_is_not_given_to_a_sample() -> None:
    left = Setup(model="digits-mlp", example_inputs="x")
    assert "wb.load_model('digits-mlp')" in code_for(left, "train", {"x": np.zeros((2, 4))})

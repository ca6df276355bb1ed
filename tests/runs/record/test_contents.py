"""What runs trained, though their models and data have the same names."""

from __future__ import annotations

import json

import numpy as np
import pytest
from torch import nn

import workbench as wb
from workbench.compare import compare_runs
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run
from workbench.runs.continuation.replaced_model import replace_model
from workbench.runs.record.contents import mark_of_data, shapes_of_model, structure_of_model

PATIENCE_S = 60
ROWS = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
LABELS = np.arange(60) % 2


def trained(inputs: int, labels: np.ndarray, hidden: int = 0) -> Run:
    """A run of a module and of arrays that have the same names as those of any other."""
    rows = ROWS[:, :inputs]
    layers = [nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, 2)] if hidden else []
    net = nn.Sequential(*layers) if hidden else nn.Linear(inputs, 2)
    model = wb.load_model(net, example_inputs=rows[:2], name="net")
    data = wb.load_dataset(rows, labels, name="x, y")
    return wb.train(model, data, engine="fake", steps=8).wait(PATIENCE_S)


def test_other_modules_and_arrays_of_the_same_names_do_not_compare() -> None:
    first, again = trained(6, LABELS), trained(6, LABELS)
    assert mark_of_data(first.folder) == mark_of_data(again.folder) != ""
    assert shapes_of_model(first.folder) == "6 → 2"
    said = compare_runs([first, again]).verdict().sentence
    assert "different" not in said
    relabelled, other = trained(6, 1 - LABELS), trained(4, LABELS)
    said = compare_runs([first, relabelled]).verdict().sentence
    assert "Their losses do not compare: they are of different datasets." in said
    assert "different datasets: their speeds do not compare" in said
    found = compare_runs([first, other])
    assert "different models and datasets: their speeds do not compare" in found.verdict().sentence
    rows = found.differences()
    assert rows.loc["samples.shapes"].tolist() == ["6 → 2", "4 → 2"]
    assert "samples.content" in rows.index


def test_other_layers_of_the_same_inputs_and_outputs_do_not_compare() -> None:
    first, wider = trained(6, LABELS), trained(6, LABELS, hidden=5)
    assert shapes_of_model(first.folder) == shapes_of_model(wider.folder)
    found = compare_runs([first, wider])
    assert [*found.runs] == ["fake · 14 parameters", "fake · 47 parameters"]
    said = found.verdict().sentence
    assert "different models: their speeds do not compare" in said
    assert "Settings that differ: layers of the model." in said
    before, after = found.differences().loc["samples.structure"]
    assert before.startswith("Linear; 14 parameters (")
    assert after.startswith("Linear, ReLU, Linear; 47 parameters (")


@pytest.mark.parametrize("damage", ["{", '{"source": {"specs": 7}}', None])
def test_what_is_not_recorded_is_empty(damage: str | None) -> None:
    folder = RunFolder.create("damaged")
    folder.model_path.mkdir()
    if damage is not None:
        (folder.model_path / "model.json").write_text(damage)
    assert (shapes_of_model(folder), structure_of_model(folder)) == ("", "")


def test_a_model_that_replaces_the_recorded_one_is_noticed() -> None:
    folder = trained(6, LABELS).folder
    assert structure_of_model(folder).startswith("Linear; ")
    other = nn.Sequential(nn.Linear(6, 2), nn.Tanh())
    replace_model(folder, wb.load_model(other, example_inputs=ROWS[:2], name="net"))
    assert structure_of_model(folder).startswith("Linear, Tanh; ")


def test_a_run_of_an_older_version_has_no_empty_part_in_its_name() -> None:
    """It has recorded no structure."""
    old, new = trained(6, LABELS), trained(6, LABELS, hidden=5)
    path = old.folder.model_path / "model.json"
    record = json.loads(path.read_text())
    del record["source"]["specs"]["structure"]
    path.write_text(json.dumps(record))
    assert [*compare_runs([old, new]).runs] == ["fake", "fake · 47 parameters"]

"""The worst predictions and the layer statistics of runs: recorded, read back, resumed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.data import Dataset
from workbench.errors import DataError, RunFolderError
from workbench.run_folder.worst_predictions import forget_later_predictions
from workbench.runs import Run

EVERY = 10


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, digits: Dataset) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        settings: dict[str, Any] = {"steps": 25, "layer_statistics_every": EVERY}
        return wb.train("digits-mlp", digits, engine="fake", **settings).wait()


def test_they_are_rows_of_the_test_split(run: Run, digits: Dataset) -> None:
    found = run.worst_predictions()
    assert len(found) == 12
    assert sorted((one.loss for one in found), reverse=True) == [one.loss for one in found]
    test = digits.test
    assert test is not None
    for one in found:
        assert one.kind == "class"
        assert one.target == test.target[one.row]
        np.testing.assert_array_equal(one.inputs[0], test.inputs[0][one.row])
        assert one.prediction.dtype == np.int64
        assert 0.1 <= one.probability <= 1
    assert repr(found[0]).startswith(f"WorstPrediction(row={found[0].row}, loss=")
    assert run.dataset.classes == digits.classes


def test_another_process_reads_the_same(run: Run) -> None:
    again = wb.load_run(str(run.folder.path))
    assert [one.row for one in again.worst_predictions()] == [
        one.row for one in run.worst_predictions()
    ]


def test_layers_are_recorded_every_few_steps(run: Run) -> None:
    found = run.layer_statistics
    assert list(found["step"]) == [10, 20]
    assert list(found["layer"]) == ["linear", "linear"]
    assert (found["gradient_norm"] > 0).all()
    assert (found["update_ratio"] > 0).all()


def test_a_run_that_records_neither_has_empty_ones(digits: Dataset) -> None:
    run = wb.train("digits-mlp", digits, engine="fake", steps=3, evaluate=False).wait()
    assert run.worst_predictions() == []
    assert list(run.layer_statistics.columns) == ["step", "layer", "gradient_norm", "update_ratio"]
    assert len(run.layer_statistics) == 0


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "{}",
        '{"step": 1, "kind": "class", "rows": [{"row": -1, "loss": 1.0, "prediction": [1]}]}',
        '{"step": 1, "kind": "secret", "rows": []}',
        '{"step": 1, "kind": "class", "rows": [{"row": 0, "loss": "a", "prediction": [1]}]}',
        "nonsense",
    ],
)
@pytest.mark.fault
def test_a_corrupt_record_is_a_sentence(run: Run, content: str) -> None:
    path = run.folder.worst_predictions_path
    kept = path.read_text(encoding="utf-8")
    try:
        path.write_text(content, encoding="utf-8")
        with pytest.raises(RunFolderError, match="worst-predictions"):
            run.worst_predictions()
    finally:
        path.write_text(kept, encoding="utf-8")


@pytest.mark.fault
def test_a_row_that_the_dataset_lacks_is_left_out(run: Run) -> None:
    path = run.folder.worst_predictions_path
    kept = path.read_text(encoding="utf-8")
    record = json.loads(kept)
    record["rows"][0]["row"] = 10**6
    try:
        path.write_text(json.dumps(record), encoding="utf-8")
        assert len(run.worst_predictions()) == 11
    finally:
        path.write_text(kept, encoding="utf-8")


@pytest.mark.fault
def test_without_its_dataset_there_is_a_sentence(run: Run) -> None:
    moved = run.folder.data_path.with_name("elsewhere")
    run.folder.data_path.rename(moved)
    try:
        with pytest.raises(DataError, match="not a saved dataset"):
            run.worst_predictions()
    finally:
        moved.rename(run.folder.data_path)


@pytest.mark.parametrize(("step", "kept"), [(25, True), (24, False)])
def test_a_resumed_run_drops_later_predictions(run: Run, step: int, kept: bool) -> None:
    path = run.folder.worst_predictions_path
    before = path.read_text(encoding="utf-8")
    try:
        forget_later_predictions(run.folder, step)
        assert path.exists() == kept
    finally:
        path.write_text(before, encoding="utf-8")

"""The worst predictions and the layer statistics of runs: recorded, read back, resumed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.runs.written import DONE, write_run
from workbench.data import Dataset, Split
from workbench.errors import DataError, RunFolderError
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.worst_predictions import forget_later_predictions, write_worst_predictions
from workbench.runs import Run
from workbench.runs.record.worst_predictions import _predicted, worst_predictions

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
    assert list(found["step"]) == [1, 10, 20]
    assert list(found["layer"]) == ["linear"] * 3
    assert (found["gradient_norm"] > 0).all()
    assert np.isnan(found["update_ratio"][0]), "its weights are zero before the first update"
    assert (found["update_ratio"][1:] > 0).all()


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


def split(targets: np.ndarray) -> Dataset:
    inputs = (np.arange(2 * len(targets), dtype=np.float32).reshape(-1, 2),)
    return Dataset("rows", Split(inputs, targets), Split(inputs, targets))


@pytest.mark.parametrize(
    ("kind", "values", "target", "expected"),
    [
        ("class", [3.0], np.int64(3), np.array(3)),
        ("class", [1.0, 2.0], np.int64(3), np.array([1, 2])),
        ("classes", [1.0, 0.0, 2.0, 1.0], np.zeros((2, 2), np.int64), np.array([[1, 0], [2, 1]])),
        ("classes", [1.0, None], np.zeros(5, np.int64), np.array([1, 0])),
        ("values", [0.5, None], np.zeros((2, 1)), np.array([[0.5], [np.nan]])),
        ("values", [0.5, 1.5], np.zeros((3, 1)), np.array([0.5, 1.5])),
        ("probabilities", [0.25], np.float32(1), np.array(0.25)),
    ],
)
def test_a_prediction_is_shaped_as_its_target(
    kind: Any, values: list[float | None], target: np.ndarray, expected: np.ndarray
) -> None:
    found = _predicted(values, kind, target)
    np.testing.assert_array_equal(found, expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


def test_the_worst_predictions_are_the_record_and_the_rows() -> None:
    run = write_run("a", [], DONE)
    data = split(np.array([4, 5, 6]))
    assert worst_predictions(run.folder, data) == []
    rows: list[dict[str, Any]] = [
        {"row": 2, "loss": 1.23456, "prediction": [1.0], "probability": 0.5},
        {"row": 3, "loss": 1.0, "prediction": [1.0], "probability": 0.5},
        {"row": 0, "loss": None, "prediction": [2.0], "probability": None},
    ]
    write_worst_predictions(run.folder, 3, "class", rows)
    first, second = worst_predictions(run.folder, data)
    assert (first.row, first.loss, first.kind, first.probability) == (2, 1.23456, "class", 0.5)
    assert (first.target, first.prediction) == (6, 1)
    np.testing.assert_array_equal(first.inputs[0], [4.0, 5.0])
    assert repr(first) == "WorstPrediction(row=2, loss=1.235, target=6, prediction=1)"
    assert (second.row, second.target) == (0, 4)
    assert math.isnan(second.loss)
    assert math.isnan(second.probability)
    assert worst_predictions(run.folder, Dataset("alone", data.train)) == []
    write_worst_predictions(run.folder, 3, "class", [])
    assert worst_predictions(run.folder, None) == []


def test_a_folder_that_was_removed_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_worst_predictions(RunFolder(tmp_path / "gone"), 3, "class", [])
    assert not [*tmp_path.iterdir()]


def test_a_long_prediction_is_shown_in_short() -> None:
    run = write_run("a", [], DONE)
    data = split(np.linspace(0, 1, 14).reshape(2, 7))
    record: list[dict[str, Any]] = [{"row": 0, "loss": 0.5, "prediction": [0.123456] * 7}]
    write_worst_predictions(run.folder, 3, "values", record)
    [found] = worst_predictions(run.folder, data)
    assert repr(found).endswith("prediction=[0.1235 0.1235 0.1235 ... 0.1235 0.1235 0.1235])")
    data = split(np.linspace(0, 1, 12).reshape(2, 6))
    write_worst_predictions(run.folder, 3, "values", [{**record[0], "prediction": [0.5] * 6}])
    assert repr(worst_predictions(run.folder, data)[0]).endswith("[0.5 0.5 0.5 0.5 0.5 0.5])")

"""The display of the rows that a run predicted worst."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench.controller.recorded_runs.worst_rows import shown_rows
from workbench.data import Dataset, Split
from workbench.data.row_source import RowSource
from workbench.runs.record.worst_predictions import WorstPrediction

NAN = float("nan")


def worst(kind: Any, target: Any, prediction: Any, given: Any, **more: Any) -> WorstPrediction:
    fields: dict[str, Any] = {"row": 3, "loss": 1.25, "probability": NAN, **more}
    arrays = [np.asarray(each) for each in (target, prediction)]
    return WorstPrediction(
        kind=kind, target=arrays[0], prediction=arrays[1], inputs=(np.asarray(given),), **fields
    )


def data(classes: tuple[str, ...] | None = None, vocabulary: Any = None) -> Dataset:
    return Dataset("any", Split([np.zeros((1, 1))], np.zeros(1)), None, classes, vocabulary)


IMAGE = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 8, 8)


def test_a_picture_has_target_and_prediction_by_name() -> None:
    [row] = shown_rows([worst("class", 1, 0, IMAGE, probability=0.981)], data(("cat", "dog")))
    assert (row.target, row.prediction, row.loss) == ("dog", "cat (98 %)", "1.2500")
    assert row.picture is not None
    assert row.picture.shape == (8, 8)
    assert row.cells == ()
    [row] = shown_rows([worst("class", 1, 0, IMAGE, loss=NAN)], data())
    assert (row.target, row.prediction, row.loss) == ("1", "0", "not finite")


def test_probabilities_of_classes_as_target_are_named_by_the_largest() -> None:
    [row] = shown_rows([worst("class", [0.2, 0.8], 0, IMAGE)], data(("cat", "dog")))
    assert (row.target, row.prediction) == ("dog", "cat")


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (0.98, "benign (98 %)"),
        (0.1, "bad (90 %)"),
        (0.998, "benign (> 99 %)"),
        (1.0, "benign (100 %)"),
    ],
)
def test_one_logit_is_one_of_two_classes(probability: float, said: str) -> None:
    found = worst("probabilities", [1.0], [probability], [1.5, 2.0])
    [row] = shown_rows([found], data(("bad", "benign")))
    assert (row.target, row.prediction) == ("benign", said)
    assert row.cells == ("1.5", "2")


def test_several_numbers_are_shown_as_numbers() -> None:
    found = worst("values", [1.0, 2.0, 3.0, 4.0, 5.0], [0.0] * 5, [7])
    [row] = shown_rows([found], data())
    assert (row.target, row.prediction) == ("1, 2, 3, 4, …", "0, 0, 0, 0, …")


def test_an_image_as_target_is_shown_beside_the_prediction_in_the_same_shades() -> None:
    pixels = IMAGE.reshape(64)
    [row] = shown_rows([worst("values", pixels, pixels / 2, pixels)], data())
    assert row.target_picture is not None
    assert row.predicted_picture is not None
    assert (row.target_picture.max(), row.predicted_picture.max()) == (255, 128)
    assert (row.target, row.prediction) == ("", "")


def test_each_position_of_a_text_is_shown_with_dots_for_missing_targets() -> None:
    letters = ("a", "b", "\n", " ")
    found = worst("classes", [1, -100, 2, 3], [1, 0, 0, 3], [0, 1, 2, 3])
    [row] = shown_rows([found], data(letters, letters))
    assert row.text == "ab⏎ "
    assert row.target_symbols == ("b", "·", "⏎", " ")
    assert row.predicted_symbols == ("b", "a", "a", " ")
    assert (row.target, row.prediction, row.cells) == ("", "", ())


def test_no_rows_are_no_rows() -> None:
    assert shown_rows([], data()) == []


def test_values_of_a_file_have_the_names_of_its_columns() -> None:
    source = RowSource("/houses.csv", "price", columns=("rooms", "area"))
    known = Dataset("any", Split([np.zeros((1, 2))], np.zeros(1)), source=source)
    [row] = shown_rows([worst("values", [1.0], [0.0], [3.0, 70.0])], known)
    assert row.columns == ("rooms", "area")

"""Previews of datasets: pictures, text, tables, classes and ranges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from workbench.controller.model.data_preview import data_preview
from workbench.data import Dataset, Split
from workbench.data.dataset import load_saved_dataset
from workbench.load import load_dataset


def test_images_are_pictures_of_every_class() -> None:
    preview = data_preview(load_dataset("sketch-cnn"))
    assert len(preview.pictures) == 12
    assert {each.pixels.shape for each in preview.pictures} == {(28, 28)}
    assert len({each.label for each in preview.pictures}) == 12, "rows are sorted by class"
    assert dict(preview.counts)["circle"] > 0
    assert not preview.texts
    assert not preview.rows


@pytest.mark.parametrize("name", ["text-gpt", "text-bert"])
def test_text_of_characters_is_read_as_text(name: str) -> None:
    data = load_dataset(name)
    preview = data_preview(data)
    assert len(preview.texts) == 6
    assert not preview.rows
    assert data.vocabulary is not None
    first = "".join(data.vocabulary[number] for number in data.train.inputs[0][0])
    assert preview.texts[0].text == first.replace("\n", "⏎")
    assert "⏎" in preview.texts[0].text
    for each in preview.texts:
        assert len(each.target) == len(each.text)
        assert not each.label


def test_a_next_character_and_a_hidden_one_are_seen_in_the_target() -> None:
    following = data_preview(load_dataset("text-gpt")).texts[0]
    assert following.target[:-1] == following.text[1:]
    hidden = data_preview(load_dataset("text-bert")).texts[0]
    assert "▢" in hidden.text
    for shown, target in zip(hidden.text, hidden.target, strict=True):
        assert shown != "▢" or target != "·", "what is hidden is to be filled in"


@pytest.mark.sweep
def test_text_with_a_class_has_its_name_and_counts() -> None:
    preview = data_preview(load_dataset("hf-classifier"))
    assert {each.label for each in preview.texts} <= {"code", "comment", "docstring"}
    assert [name for name, _ in preview.counts] == ["code", "comment", "docstring"]
    assert dict(preview.facts)["Input"].endswith("; 96 tokens")


def test_a_table_has_the_range_of_each_column_and_classes_of_one_logit() -> None:
    data = load_dataset("breast-cancer-mlp")
    preview = data_preview(data)
    assert dict(preview.counts) == {"malignant": 174, "benign": 281}
    assert {row[-1] for row in preview.rows} <= {"malignant", "benign"}
    assert len(preview.columns) == len(preview.ranges) == len(preview.rows[0]) == 14
    column = data.train.inputs[0][:, 3]
    assert preview.ranges[3] == f"{column.min():.4g} to {column.max():.4g}"
    assert preview.ranges[-2:] == ("", "")


def test_numbers_beyond_the_vocabulary_are_a_table() -> None:
    inputs = np.array([[0, 1, 5], [1, 0, 2]])
    split = Split([inputs], np.array([0.5, 1.5], np.float32))
    preview = data_preview(Dataset("odd", split, vocabulary=("a", "b")))
    assert preview.rows == (("0", "1", "5", "0.5"), ("1", "0", "2", "1.5"))
    assert preview.counts == ()


def test_words_are_apart() -> None:
    split = Split([np.array([[0, 1, 0]])], np.array([1]))
    preview = data_preview(Dataset("words", split, None, ("no", "yes"), ("red", "car")))
    assert preview.texts[0] == ("red car red", "yes", "")


def test_several_inputs_are_one_table() -> None:
    inputs = [np.zeros((3, 2), np.float32), np.arange(3).reshape(3, 1)]
    preview = data_preview(Dataset("two", Split(inputs, np.array([0, 1, 1]))))
    assert preview.columns == ("0", "1", "2", "target")
    assert preview.rows[2] == ("0", "0", "2", "1")
    assert preview.ranges == ("0 to 0", "0 to 0", "0 to 2", "")


def test_a_file_has_the_names_of_all_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "sensors.csv"
    names = ",".join(f"sensor {index}" for index in range(64))
    path.write_text(f"{names},fault\n" + f"{','.join(['1.5'] * 64)},no\n" * 10, encoding="utf-8")
    data = load_dataset(str(path), "fault")
    preview = data_preview(data)
    assert not preview.pictures, "64 columns are no picture of 8 x 8"
    assert preview.columns[:2] == ("sensor 0", "sensor 1")
    assert preview.columns[-2:] == ("…", "fault (target)")
    data.save(tmp_path / "saved")
    assert load_saved_dataset(tmp_path / "saved").source == data.source


def test_classes_that_do_not_occur_are_not_counted() -> None:
    facts = dict(data_preview(load_dataset("sketch-cnn")).facts)
    assert facts["Target"].endswith("0 to 23; 24 of 40 classes")
    digits = dict(data_preview(load_dataset("digits-mlp")).facts)
    assert digits["Ranges"] == "of the training rows"
    assert digits["Target"].endswith("; 10 classes")

"""Rows from samples, arrays and torch datasets, and what is refused of each."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import IterableDataset, TensorDataset

from tests.data.rows import X, Y, every_row
from workbench.errors import DataError
from workbench.load import load_dataset, load_model

# Samples


@pytest.mark.parametrize("source", ["digits", "digits-cnn", load_model("digits-mlp")])
def test_a_sample_by_the_name_of_dataset_or_model(source) -> None:
    data = load_dataset(source)
    assert data.name == "digits"
    assert data.classes == tuple("0123456789")
    assert data.train.inputs[0].shape == (1438, 1, 8, 8)
    assert data.train.inputs[0].dtype == np.float32
    assert load_dataset(source, name="mine").name == "mine"


@pytest.mark.fault
def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(DataError, match=r"No dataset 'digit'.*'digits'"):
        load_dataset("digit")


@pytest.mark.fault
def test_a_folder_that_hides_a_sample_is_reported(tmp_path, monkeypatch) -> None:
    (tmp_path / "digits" / "python").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"no images.*'digits' is here, so the sample.*rename"):
        load_dataset("digits")


@pytest.mark.fault
def test_a_sample_has_its_own_target() -> None:
    with pytest.raises(DataError, match="already has a target"):
        load_dataset("digits", Y)


@pytest.mark.fault
def test_a_model_without_a_dataset() -> None:
    model = load_model(torch.nn.Linear(2, 3), example_inputs=np.zeros((2, 2)))
    with pytest.raises(DataError, match="'Linear' has no default dataset"):
        load_dataset(model)


# Arrays


def test_arrays_are_converted_to_the_dtypes_of_models() -> None:
    data = load_dataset(X, Y)
    inputs, target = every_row(data)
    assert (inputs.dtype, target.dtype) == (np.float32, np.int64)
    assert np.array_equal(inputs, X)
    assert np.array_equal(target, Y)
    assert (len(data.train), len(data.test or ())) == (16, 4)


def test_the_split_follows_its_seed() -> None:
    one, same, other = (load_dataset(X, Y, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.train.inputs[0], same.train.inputs[0])
    assert not np.array_equal(one.train.inputs[0], other.train.inputs[0])
    assert load_dataset(X, Y, test_fraction=0).test is None


@pytest.mark.fault
@pytest.mark.parametrize("fraction", [-0.1, 1, 1.5, 0.99])
def test_a_fraction_that_leaves_nothing(fraction: float) -> None:
    with pytest.raises(DataError, match=f"test_fraction={fraction}"):
        load_dataset(X, Y, test_fraction=fraction)


def test_several_inputs_tensors_lists_and_booleans() -> None:
    tokens = torch.arange(20, dtype=torch.int32).reshape(20, 1)
    mask = tokens > 3
    for source in ((X, tokens, mask), {"numbers": X, "tokens": tokens, "mask": mask.numpy()}):
        data = load_dataset(source, torch.ones(20, dtype=torch.bool))
        assert [array.dtype for array in data.train.inputs] == [np.float32, np.int64, np.bool_]
        assert data.train.target.dtype == np.int64
    assert load_dataset(X.tolist(), Y.tolist()).train.inputs[0].shape == (16, 2)


def test_text_labels_become_class_numbers() -> None:
    data = load_dataset(X, np.array(["cat", "ant", "bee", "ant"] * 5))
    assert data.classes == ("ant", "bee", "cat")
    assert every_row(data)[1].tolist() == [2, 0, 1, 0] * 5


@pytest.mark.fault
def test_a_dtype_can_be_asked_for() -> None:
    assert load_dataset(X, Y, target_dtype="float32").train.target.dtype == np.float32
    assert load_dataset(X, Y.astype(float)).train.target.dtype == np.float32
    assert load_dataset(X, Y.astype(float), target_dtype="int64").train.target.dtype == np.int64
    with pytest.raises(DataError, match="target_dtype='int8'"):
        load_dataset(X, Y, target_dtype="int8")


def test_classes_can_be_named() -> None:
    assert load_dataset(X, Y, classes=("a", "b", "c")).classes == ("a", "b", "c")


def with_value(row: int, value: float) -> np.ndarray:
    array = X.copy()
    array[row, 1] = value
    return array


@pytest.mark.fault
@pytest.mark.parametrize(
    ("inputs", "target", "message"),
    [
        (with_value(7, np.nan), Y, "input 0 contains NaN in row 7"),
        (with_value(3, -np.inf), Y, "input 0 contains infinity in row 3"),
        (with_value(4, 1e300), Y, "as float32, contains infinity in row 4"),
        (X, with_value(5, np.nan), "target contains NaN in row 5"),
        (X, with_value(5, np.nan)[:, 1], "target contains NaN in row 5"),
        (X[:15], Y, "15 rows and the target has 20"),
        (X[:0], Y[:0], "no rows"),
        (np.array([{}, {}]), Y[:2], "input 0 has the unsupported dtype object"),
        (X, object(), "target is of type object; pass an array"),
        (X, np.array([None] * 20), "target has the unsupported dtype object"),
        (X.astype(complex), Y, "dtype complex128"),
        ([[1.0], [1.0, 2.0]], Y[:2], "input 0 is ragged"),
        (X, None, "need a target"),
        (3, Y, "Cannot load a dataset from int"),
    ],
)
def test_bad_arrays(inputs, target, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_dataset(inputs, target)


@pytest.mark.fault
def test_a_bad_row_is_found_in_any_piece(monkeypatch) -> None:
    monkeypatch.setattr("workbench.data.rows.SCAN_BYTES", 48)
    with pytest.raises(DataError, match="row 19"):
        load_dataset(with_value(19, np.nan), Y)


# torch


class Items(TorchDataset):
    """Whatever it is given, one by one."""

    def __init__(self, items: list) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> object:
        return self.items[index]


class Stream(IterableDataset):
    def __iter__(self):
        return iter([])


def test_torch_datasets() -> None:
    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    tensors = load_dataset(TensorDataset(x, y))
    assert tensors.name == "TensorDataset"
    assert np.array_equal(every_row(tensors)[1], Y)
    for items in (
        list(zip(x, Y.tolist(), strict=True)),
        [((row, row[:1]), int(label)) for row, label in zip(x, Y, strict=True)],
        [(row, row[:1], int(label)) for row, label in zip(x, Y, strict=True)],
        [{"label": int(label), "x": row} for row, label in zip(x, Y, strict=True)],
    ):
        inputs, target = every_row(load_dataset(Items(items)))
        assert np.array_equal(inputs, X)
        assert np.array_equal(target, Y)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Stream(), "Stream is an IterableDataset"),
        (Items([]), "is empty"),
        (Items([torch.zeros(2)]), "Item 0 of the torch Dataset is Tensor"),
        (Items([{"x": 1}]), "Item 0 of the torch Dataset is dict"),
        (Items([(torch.zeros(2), 0), (torch.zeros(3), 0)]), "Item 1 .* has shape"),
        (Items([(Image.new("L", (2, 2)), "a"), (object(), "b")]), "Item 1 .* contains object"),
        (Items([(torch.tensor([1.0, np.nan]), 0)]), "input 0 contains NaN in row 0"),
    ],
)
def test_bad_torch_datasets(source, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_dataset(source)


def test_reading_one_kind_loads_no_other() -> None:
    code = """
import subprocess
import sys
import numpy as np
from workbench.load import load_dataset
load_dataset(np.ones((4, 2)), np.zeros(4, int))
print([name for name in ("torch", "pandas", "PIL", "sklearn", "onnx") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_a_tuple_of_arrays_is_several_targets() -> None:
    data = load_dataset(X, (Y, Y * 2.0))
    for split in (data.train, data.test):
        assert split is not None
        first, second = split.targets
        assert (first.dtype, second.dtype) == (np.int64, np.float32)
        assert np.array_equal(first * 2, second)
    single = load_dataset(X, tuple(Y.tolist()))
    assert len(single.train.targets) == 1

"""Rows from .npz and .csv files and folders of images, and what is refused of each."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.data.rows import X, Y, every_row
from workbench.data import load_saved_dataset
from workbench.errors import DataError
from workbench.load import load_dataset

# .npz


def test_npz_by_the_usual_names(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", x=X, y=Y)
    np.savez(tmp_path / "b.npz", target=Y, one=X, two=X[:, :1])
    a, b = load_dataset(str(tmp_path / "a.npz")), load_dataset(tmp_path / "b.npz")
    assert a.name == "a"
    assert np.array_equal(every_row(a)[1], Y)
    assert [array.shape[1] for array in b.train.inputs] == [2, 1]


@pytest.mark.fault
def test_npz_with_a_named_target(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", x=X, answer=Y)
    data = load_dataset(tmp_path / "a.npz", "answer")
    assert np.array_equal(every_row(data)[1], Y)
    with pytest.raises(DataError, match=r"no member 'answr'.*'answer'"):
        load_dataset(tmp_path / "a.npz", "answr")
    with pytest.raises(DataError, match="it has none"):
        load_dataset(tmp_path / "a.npz")


@pytest.mark.fault
@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"y": Y}, "no members other than the target"),
        ({"x": X, "y": Y, "label": Y}, "it has several"),
        ({"x": np.array([{"a": 1}], object), "y": Y}, "Python objects"),
        ({}, "it has none"),
    ],
)
def test_bad_npz(tmp_path, members, message: str) -> None:
    np.savez(tmp_path / "bad.npz", **members)
    with pytest.raises(DataError, match=message):
        load_dataset(tmp_path / "bad.npz")


def broken_member(folder: Path) -> bytes:
    """A zip whose member is no array."""
    np.savez(folder / "whole.npz", y=Y, x=X)
    whole = (folder / "whole.npz").read_bytes()
    return whole.replace(b"NUMPY", b"GRUMP", 1)


@pytest.mark.fault
@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x03\x04 cut short", None])
def test_a_corrupt_npz(tmp_path, content: bytes | None) -> None:
    content = broken_member(tmp_path) if content is None else content
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"bad\.npz is not"):
        load_dataset(tmp_path / "bad.npz")


# .csv


def csv(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text)
    return path


@pytest.mark.fault
def test_csv_with_text_whole_and_real_targets(tmp_path) -> None:
    path = csv(tmp_path, "a,kind,b,price,room\n" + "1,tree,2,1.5,3\n2,bush,3,2.5,1\n" * 5)
    with pytest.raises(DataError, match=r"column 'kind' contains text"):
        load_dataset(path, "price")
    kinds = load_dataset(path, "kind")
    assert kinds.classes == ("bush", "tree")
    assert kinds.train.inputs[0].shape == (8, 4)
    path = csv(tmp_path, "a,price,room\n" + "1,1.5,3\n2,2.5,1\n" * 5)
    assert load_dataset(path, "room").train.target.dtype == np.int64
    prices = load_dataset(path, "price")
    assert (prices.train.target.shape, prices.train.target.dtype) == ((8, 1), np.float32)
    rooms = load_dataset(path, "room", target_dtype="float32")
    assert (rooms.train.target.shape, rooms.train.target.dtype) == ((8, 1), np.float32)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("a,b\n1,2\n", None, "give the name of a column of .*: a, b"),
        ("a,b\n1,2\n", "c", "no column 'c'"),
        ("a,b,c,d\n1,x,y,2\n", "d", r"column 'b' contains text .*, as does 'c'; inputs must be"),
        ("a,b,c,d\nz,x,y,2\n", "d", r"column 'a' contains text .*, as do 'b', 'c'; inputs must"),
        ("a,b\n1,2\n,4\n", "b", r"an empty cell in line 3, column 'a'"),
        ("a,b\n1,2\n3,\n", "b", r"an empty cell in line 3, column 'b'"),
        ("a,b\n1,2\ninf,4\n", "b", "infinity in row 1"),
        ("b\n1\n", "b", "no columns other than the target"),
        ("a,b\n", "b", "empty"),
        ("", "b", "not a readable .csv"),
        ("a,b\n1,2\n1,2,3,4\n", "b", "4 values in line 3, more than the 2 columns"),
    ],
)
def test_bad_csv(tmp_path, text: str, target: str | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_dataset(csv(tmp_path, text), target)


def test_a_group_column_is_split_with_the_rows_and_is_no_input(tmp_path) -> None:
    lines = "".join(f"{row},user {row % 3},{row % 2}\n" for row in range(20))
    path = csv(tmp_path, f"a,user,kind\n{lines}")
    data = load_dataset(path, "kind", groups="user")
    assert data.source is not None
    assert (data.columns, data.source.groups) == (("a",), "user")
    assert data.groups is not None
    assert data.test is not None
    for split, names in ((data.train, data.groups.train), (data.test, data.groups.test)):
        assert names.tolist() == [f"user {int(row) % 3}" for row in split.inputs[0][:, 0]]
    data.save(tmp_path / "saved")
    saved = load_saved_dataset(tmp_path / "saved")
    assert (saved.source, saved.groups) == (data.source, None)
    # As it was recorded before other files had a record of their source.
    record_path = tmp_path / "saved" / "data.json"
    record = json.loads(record_path.read_text())
    source = record.pop("source")
    record["table"] = {"file": source.pop("path"), **source}
    record_path.write_text(json.dumps(record))
    assert load_saved_dataset(tmp_path / "saved").source == data.source


@pytest.mark.fault
@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("usr", r"no column groups='usr'.*'user'"),
        ("kind", "groups='kind' is the target"),
        (["a", "b"], r"groups has shape \(2,\), but there are 4 rows"),
        (np.ones(4), "dtype float64; give text or integers"),
    ],
)
def test_bad_groups(tmp_path, groups: object, message: str) -> None:
    path = csv(tmp_path, "a,user,kind\n" + "1,2,3\n" * 4)
    with pytest.raises(DataError, match=message):
        load_dataset(path, "kind", groups=groups)


@pytest.mark.fault
def test_only_tables_have_a_group_column(tmp_path) -> None:
    with pytest.raises(DataError, match=r"only a \.csv file has columns"):
        load_dataset(np.zeros((4, 2)), np.zeros(4), groups="user")
    with pytest.raises(DataError, match="'digits' has no groups"):
        load_dataset("digits", groups=["a"])
    with pytest.raises(DataError, match="the target 'kind' and groups='user'"):
        load_dataset(csv(tmp_path, "user,kind\n1,2\n"), "kind", groups="user")


# Images


def picture(path: Path, colour: int | tuple[int, int, int], size: tuple[int, int] = (4, 6)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = "L" if isinstance(colour, int) else "RGB"
    Image.new(mode, (size[1], size[0]), colour).save(path)


def test_images_in_colour_and_grey(tmp_path) -> None:
    for index in range(5):
        picture(tmp_path / "red" / f"{index}.png", (255, 0, 51))
        picture(tmp_path / "black" / f"{index}.PNG", (0, 0, 0))
    (tmp_path / "black" / "notes.txt").write_text("no image")
    data = load_dataset(tmp_path)
    assert data.classes == ("black", "red")
    inputs, target = every_row(data)
    assert (inputs.shape, inputs.dtype) == ((10, 3, 4, 6), np.float32)
    assert target.tolist() == [0] * 5 + [1] * 5
    assert np.allclose(inputs[-1][:, 0, 0], [1, 0, 0.2])
    for index in range(5):
        picture(tmp_path / "red" / f"{index}.png", 51)
        picture(tmp_path / "black" / f"{index}.PNG", 0)
    grey, _ = every_row(load_dataset(str(tmp_path)))
    assert grey.shape == (10, 1, 4, 6)
    assert np.allclose(grey[-1], 0.2)


@pytest.mark.fault
def test_images_of_several_sizes(tmp_path) -> None:
    picture(tmp_path / "a" / "1.png", 9)
    picture(tmp_path / "a" / "2.png", 9, size=(5, 5))
    with pytest.raises(DataError, match=r"2\.png is 5x5 pixels.*is 4x6; give image_size="):
        load_dataset(tmp_path)
    data = load_dataset(tmp_path, image_size=(3, 2), test_fraction=0)
    assert data.train.inputs[0].shape == (2, 1, 3, 2)


@pytest.mark.fault
def test_bad_image_folders(tmp_path) -> None:
    with pytest.raises(DataError, match="no subfolders"):
        load_dataset(tmp_path)
    (tmp_path / "a").mkdir()
    with pytest.raises(DataError, match="contains no images"):
        load_dataset(tmp_path)
    (tmp_path / "a" / "1.png").write_bytes(b"\x89PNG cut short")
    with pytest.raises(DataError, match=r"1\.png is not a readable image"):
        load_dataset(tmp_path)


# Paths


@pytest.mark.fault
def test_bad_paths(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"missing\.npz does not exist"):
        load_dataset("missing.npz")
    (tmp_path / "data.txt").write_text("1 2 3")
    with pytest.raises(DataError, match=r"not a \.npz file, a \.csv file"):
        load_dataset("data.txt")
    np.savez("a.npz", x=X, y=Y)
    with pytest.raises(DataError, match="must be the name of the target"):
        load_dataset("a.npz", Y)


@pytest.mark.fault
def test_several_members_of_a_npz_file_are_targets(tmp_path: Path) -> None:
    x = np.arange(20, dtype=np.float32).reshape(10, 2)
    np.savez(tmp_path / "two.npz", x=x, kind=np.arange(10), size=x[:, :1])
    data = load_dataset(tmp_path / "two.npz", "kind, size")
    assert [target.dtype for target in data.train.targets] == [np.int64, np.float32]
    assert len(data.train.inputs) == 1
    with pytest.raises(DataError, match=r"no member 'sise'\. Did you mean 'size'"):
        load_dataset(tmp_path / "two.npz", "kind,sise")

"""Files of examples: what was saved is loaded, and what is no such file is refused."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.personalisation.recorded import drawn_examples, spoken_examples
from workbench.errors import DataError
from workbench.personalisation import Examples
from workbench.personalisation.examples import examples_file


def texts() -> Examples:
    examples = Examples("text")
    examples.add("caf\u00e9 \0 \U0001f600\n", "notes")
    examples.add("second " * 50)
    return examples


@pytest.mark.parametrize(
    "made",
    [
        lambda: drawn_examples(0, 2)[0],
        lambda: spoken_examples(0, 1)[0],
        texts,
        lambda: Examples("image", ["a"]),
        lambda: Examples("text"),
    ],
    ids=["image", "audio", "text", "no examples", "no texts"],
)
def test_saved_examples_are_loaded(made: Callable[[], Examples], tmp_path: Path) -> None:
    examples = made()
    if len(examples) > 1:
        examples.remove(examples.items[0].id)
    loaded = Examples.load(examples.save(tmp_path / "mine.npz"))
    assert loaded.kind == examples.kind
    assert loaded.counts() == examples.counts()
    for old, new in zip(examples.items, loaded.items, strict=True):
        assert (old.id, old.label) == (new.id, new.label)
        assert np.array_equal(old.value, new.value)
    assert not loaded.undo()


def changed(path: Path, **members: object) -> None:
    with np.load(path) as file:
        content = {**file, **members}
    np.savez(path, **content)  # type: ignore[arg-type]


@pytest.mark.fault
@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"format": 2}, "a newer workbench wrote them"),
        ({"format": "x"}, "not a file written by"),
        ({"format": np.inf}, "not a file written by"),
        ({"kind": "video"}, "kind='video'"),
        ({"ids": np.array([1, 1])}, "ids must be different"),
        ({"ids": np.array([1])}, "1 ids|labels"),
        ({"ids": np.array([0.5, 1])}, "ids"),
        ({"labels": np.array(["", "b"])}, "label=''"),
        ({"labels": np.array([1, 2])}, None),
        ({"values": np.zeros((2, 8), np.uint8)}, r"values are uint8 of shape \(2, 8\)"),
        ({"values": np.zeros((1, 28, 28), np.uint8)}, "not a file written by|shorter"),
        ({"values": np.array([{}, {}])}, "pickled"),
    ],
)
def test_a_file_of_something_else_is_refused(
    members: dict[str, object], sentence: str | None, tmp_path: Path
) -> None:
    examples = Examples("image")
    for label in "ab":
        examples.add([[(0, 0), (1, 1)]], label)
    path = examples.save(tmp_path / "mine.npz")
    changed(path, **members)
    if sentence is None:  # numbers are labels as well as any
        assert [item.label for item in Examples.load(path).items] == ["1", "2"]
        return
    with pytest.raises(DataError, match=sentence) as caught:
        Examples.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.fault
@pytest.mark.parametrize("size", [0, 10, 300, -30])
def test_a_truncated_file_is_refused(size: int, tmp_path: Path) -> None:
    path = drawn_examples(0, 1)[0].save(tmp_path / "mine.npz")
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match=r"is not a (readable )?\.npz file"):
        Examples.load(path)


@pytest.mark.fault
def test_texts_whose_lengths_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = texts().save(tmp_path / "mine.npz")
    changed(path, lengths=np.array([5, -5]))
    with pytest.raises(DataError, match="holds no valid examples"):
        Examples.load(path)
    changed(path, lengths=np.array([1, 2]))
    with pytest.raises(DataError, match="do not fit"):
        Examples.load(path)


@pytest.mark.fault
def test_an_archive_that_declares_too_much_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("values.npy", b"")
        archive.infolist()[0].file_size = 3 * 10**9  # as the directory at its end declares
    with pytest.raises(DataError, match="holds 3,000 MB of numbers; at most 200 MB are read"):
        Examples.load(path)


@pytest.mark.fault
@pytest.mark.parametrize("path", [None, 5, b"x"])
def test_values_that_are_no_path_are_refused(path: object) -> None:
    with pytest.raises(DataError, match="is not the path of a file"):
        Examples.load(path)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="is not the path of a file"):
        texts().save(path)  # type: ignore[arg-type]


@pytest.mark.fault
def test_examples_that_could_not_be_loaded_are_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examples_file, "MOST_BYTES", 300)
    with pytest.raises(DataError, match="too much for one file"):
        texts().save(tmp_path / "mine.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault
def test_missing_files_members_and_suffixes_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        Examples.load(tmp_path / "none.npz")
    with pytest.raises(DataError, match=r"suffix \.npz"):
        texts().save(tmp_path / "mine.zip")
    path = tmp_path / "other.npz"
    np.savez(path, x=np.zeros(3))
    with pytest.raises(DataError, match=r"not a file written by .*: it has no"):
        Examples.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../outside.npy", b"x")
    with pytest.raises(DataError, match="not a readable"):
        Examples.load(path)

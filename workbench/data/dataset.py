"""A named dataset: training split, test split and class names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.data.row_source import RowSource
from workbench.data.split import Split
from workbench.errors import DataError, RunFolderError
from workbench.files.format_version import refuse_newer_format
from workbench.files.input_file import check_file, path_exists
from workbench.files.json_file import read_json
from workbench.files.temporary_folder import temporary_folder

FORMAT_VERSION = 2
"""Version of the saved layout, written to data.json. Newer versions are rejected."""

MAP_FROM_BYTES = 64 << 20
"""Arrays of this size and more are memory-mapped when they are loaded; smaller ones are read."""


class RowGroups(NamedTuple):
    """A group of each row, such as the user that it is from."""

    train: np.ndarray
    """Text, (rows of the training split,)."""
    test: np.ndarray
    """Text, (rows of the test split,), empty without one."""


class Dataset:
    """A dataset with a training and a test split.

    Attributes:
        name: name in figures and messages.
        train: the training split.
        test: the split that is evaluated after each epoch, or None.
        classes: class names in the order of their indices, or None.
        vocabulary: of text, the symbol of each number of the input, in their order, or None.
        source: the file or the folder that it was read from, or None.
        groups: the group of each row, for `wb.federated.groups`, or None; it is not saved.
    """

    def __init__(
        self,
        name: str,
        train: Split,
        test: Split | None = None,
        classes: tuple[str, ...] | None = None,
        vocabulary: tuple[str, ...] | None = None,
        groups: RowGroups | None = None,
        source: RowSource | None = None,
    ) -> None:
        self.name = name
        self.train = train
        self.test = test
        self.classes = classes
        self.vocabulary = vocabulary
        self.source = source
        self.groups = groups

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the inputs' values, of a .csv file; empty: the rows are no table."""
        return () if self.source is None else self.source.columns

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, train={self.train!r}, test={self.test!r})"

    def save(self, folder: Path) -> None:
        """Write one .npy file per array and data.json into a new folder, atomically.

        Raises:
            DataError: `folder` is not empty.
        """
        folder = Path(folder)
        if folder.exists() and any(folder.iterdir()):
            raise DataError(f"{folder} is not empty; save the dataset into a new folder.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(target=folder) as temporary:
            record: dict[str, Any] = {
                "format": FORMAT_VERSION,
                "name": self.name,
                "classes": self.classes,
                "vocabulary": self.vocabulary,
                "source": None if self.source is None else self.source._asdict(),
                "inputs": len(self.train.inputs),
                "targets": len(self.train.targets),
                "test": self.test is not None,
            }
            _write_split(temporary, "train", self.train)
            if self.test is not None:
                _write_split(temporary, "test", self.test)
            (temporary / "data.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
            os.replace(temporary, folder)


def load_saved_dataset(folder: Path) -> Dataset:
    """Load what `Dataset.save` wrote; large arrays are memory-mapped, read-only.

    Raises:
        DataError: `folder` is not a saved dataset, is incomplete, or is from a newer version.
    """
    path = Path(folder) / "data.json"
    try:
        record = read_json(path)
        version = record["format"]
        refuse_newer_format(version, FORMAT_VERSION, str(folder), DataError, " to open it")
        counts = record["inputs"], record.get("targets", 1)  # one target in format 1
        train = _read_split(path.parent, "train", *counts)
        test = _read_split(path.parent, "test", *counts) if record["test"] else None
        classes = None if record["classes"] is None else tuple(record["classes"])
        vocabulary = record.get("vocabulary")
        known = None if vocabulary is None else tuple(vocabulary)
        source = _read_source(record)
        return Dataset(record["name"], train, test, classes, known, source=source)
    except FileNotFoundError as error:
        raise DataError(f"{folder} is not a saved dataset: {error.filename} is missing.") from None
    except (KeyError, TypeError, ValueError, OSError, RunFolderError) as error:
        raise DataError(f"{folder} is not a readable saved dataset: {error}.") from error


def _read_source(record: dict[str, Any]) -> RowSource | None:
    table = record.get("table")  # .csv files had a record of their own
    source = record.get("source") if table is None else {**table, "path": table["file"]}
    if source is None:
        return None
    columns = tuple(map(str, source.get("columns", ())))
    return RowSource(
        str(source["path"]), str(source["target"]), str(source.get("groups", "")), columns
    )


def _write_split(folder: Path, split_name: str, split: Split) -> None:
    for index, array in enumerate(split.inputs):
        np.save(folder / f"{split_name}-input-{index}.npy", array, allow_pickle=False)
    for index, array in enumerate(split.targets):
        np.save(folder / _target_file(split_name, index), array, allow_pickle=False)


def _read_split(folder: Path, split_name: str, input_count: int, target_count: int) -> Split:
    inputs = [_read_array(folder / f"{split_name}-input-{i}.npy") for i in range(input_count)]
    targets = [_read_array(folder / _target_file(split_name, i)) for i in range(target_count)]
    return Split(inputs, tuple(targets))


def _target_file(split_name: str, index: int) -> str:
    return f"{split_name}-target{f'-{index}' if index else ''}.npy"


def _read_array(path: Path) -> np.ndarray:
    if path_exists(path):
        check_file(path, DataError)
    large = path.stat().st_size >= MAP_FROM_BYTES
    array: np.ndarray = np.load(path, mmap_mode="r" if large else None, allow_pickle=False)
    return array

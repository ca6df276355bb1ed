"""Rows from a .npz file."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np
import psutil

from workbench.data.rows import Rows, make_rows
from workbench.errors import DataError, nearest
from workbench.files.input_file import is_file

TARGET_NAMES = ("y", "target", "targets", "label", "labels")


def read_npz(path: Path, target: str | None, target_dtype: str | None) -> Rows:
    """Read inputs and target from the members of a .npz file.

    The target is the member named `target`, by default the one named y, target, targets, label or
    labels; comma-separated names give several targets. The inputs are all other members, in the
    order of the file. Pickled members are never read.

    Raises:
        DataError: the file is corrupt, contains Python objects, or lacks a member.
    """
    members = read_arrays(path)
    text = target if target is not None else _target_name(path, members)
    names = [text] if text in members else [part.strip() for part in text.split(",")]
    for name in names:
        if name not in members:
            raise DataError(f"{path} has no member {name!r}. {nearest(name, members)}")
    inputs = [array for member, array in members.items() if member not in names]
    if not inputs:
        raise DataError(f"{path} has no members other than the target {text!r}; add the inputs.")
    targets = tuple(members[name] for name in names)
    return make_rows(inputs, targets if len(targets) > 1 else targets[0], target_dtype)


def read_arrays(path: Path, most_bytes: int | None = None) -> dict[str, np.ndarray]:
    """All members of a .npz file by name; pickled ones are never read.

    Args:
        path: of the file.
        most_bytes: that its arrays may take; None: what memory is available.

    Raises:
        DataError: the file is corrupt, contains Python objects, or holds more than that.
    """
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path} is not a .npz file as np.savez writes it, or is truncated.")
    try:
        with zipfile.ZipFile(path) as archive:
            _check_size(path, archive, most_bytes)
            return _members(path, archive)
    except DataError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise many types
        raise DataError(f"{path} is not a readable .npz file: {error}.") from None


def member_names(path: Path) -> list[str]:
    """Names of the arrays of a .npz file; empty where it cannot be read."""
    if not is_file(path):  # opening a pipe could block forever
        return []
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return []


def _target_name(path: Path, members: dict[str, np.ndarray]) -> str:
    found = [name for name in TARGET_NAMES if name in members]
    if len(found) == 1:
        return found[0]
    number = "several" if found else "none"
    raise DataError(
        f"The target of {path} is not known: of the default names {', '.join(TARGET_NAMES)} it "
        f"has {number}. Its members are {', '.join(members) or '(none)'}; name one with target=."
    )


def _check_size(path: Path, archive: zipfile.ZipFile, most_bytes: int | None) -> None:
    """Raise a DataError where the members declare more than fits; no more of them is ever read."""
    whole = sum(entry.file_size for entry in archive.infolist())
    if most_bytes is not None and whole > most_bytes:
        raise DataError(
            f"{path} holds {whole / 1e6:,.0f} MB of numbers; at most {most_bytes / 1e6:,.0f} MB "
            "are read."
        )
    free = psutil.virtual_memory().available
    if whole > free:
        raise DataError(
            f"{path} needs {whole / 1e9:,.1f} GB of memory, but {free / 1e9:,.1f} GB are "
            "available; save fewer rows or a smaller dtype, such as float32."
        )


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, np.ndarray]:
    """All arrays by name."""
    members: dict[str, np.ndarray] = {}
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".npy")
        if name in members:
            raise DataError(f"{path} contains {name!r} twice; names must be unique.")
        with archive.open(entry) as content:
            members[name] = _array(path, name, content, entry.file_size)
    return members


def _array(path: Path, name: str, content: IO[bytes], size: int) -> np.ndarray:
    version = np.lib.format.read_magic(content)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is not None:
        shape, _, dtype = read_header(content)
        if dtype.hasobject:
            raise DataError(
                f"{path} contains pickled Python objects (dtype object), which can execute code "
                "and are not read. Save numbers, with np.savez(path, x=inputs, y=target)."
            )
        if math.prod(shape) * dtype.itemsize != size - content.tell():
            raise DataError(
                f"{path} is not a readable .npz file: member {name!r} has {size:,} bytes, which "
                f"does not match {dtype} of shape {shape}."
            )
    content.seek(0)
    array: np.ndarray = np.lib.format.read_array(content, allow_pickle=False)
    return array

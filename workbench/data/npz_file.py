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

TARGET_NAMES = ("y", "target", "targets", "label", "labels")


def read_npz(path: Path, target: str | None, target_dtype: str | None) -> Rows:
    """Inputs and target from the members of a .npz file.

    The target is the member named `target`, or else the one named y, target, targets, label or
    labels; several names with commas between them are several targets. The inputs are all other
    members, in the order of the file. Pickled members are never read.

    Raises:
        DataError: the file is damaged, holds Python objects, or has no such members.
    """
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path} is not a .npz file, or is truncated; np.savez writes such files.")
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(path, archive)
    except DataError:
        raise
    except Exception as error:  # whatever damage brings about in zipfile, zlib and numpy
        raise DataError(f"{path} is not a readable .npz file: {error}.") from None
    text = target if target is not None else _target_name(path, members)
    names = [text] if text in members else [part.strip() for part in text.split(",")]
    for name in names:
        if name not in members:
            raise DataError(f"{path} has no member {name!r}. {nearest(name, members)}")
    inputs = [array for member, array in members.items() if member not in names]
    if not inputs:
        raise DataError(f"{path} has no member besides the target {text!r}; add the inputs.")
    targets = tuple(members[name] for name in names)
    return make_rows(inputs, targets if len(targets) > 1 else targets[0], target_dtype)


def _target_name(path: Path, members: dict[str, np.ndarray]) -> str:
    found = [name for name in TARGET_NAMES if name in members]
    if len(found) == 1:
        return found[0]
    which = "more than one of them" if found else "none"
    raise DataError(
        f"{path} has the members {', '.join(members) or '(none)'}; the target is one of "
        f"{', '.join(TARGET_NAMES)}, and there is {which}. Say which, with target=."
    )


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, np.ndarray]:
    """Every array by name, its size looked at before memory is taken for it."""
    whole = sum(entry.file_size for entry in archive.infolist())
    free = psutil.virtual_memory().available
    if whole > free:
        raise DataError(
            f"{path} unpacks to {whole / 1e9:,.1f} GB, but {free / 1e9:,.1f} GB of memory are "
            "free; save fewer rows or smaller numbers, such as float32."
        )
    members: dict[str, np.ndarray] = {}
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".npy")
        if name in members:
            raise DataError(f"{path} holds {name!r} twice; save each array under its own name.")
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
                f"{path} holds Python objects (dtype object), which are pickles and may run code; "
                "they are not read. Save numbers, with np.savez(path, x=inputs, y=target)."
            )
        if math.prod(shape) * dtype.itemsize != size - content.tell():
            raise DataError(
                f"{path} is not a readable .npz file: member {name!r} should hold {dtype} of shape "
                f"{shape}, which is not what its {size:,} bytes hold."
            )
    content.seek(0)
    array: np.ndarray = np.lib.format.read_array(content, allow_pickle=False)
    return array

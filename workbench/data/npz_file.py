"""Rows from a .npz file."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

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
        # Opened here, for np.load leaves a file open that it cannot read.
        with path.open("rb") as content, np.load(content, allow_pickle=False) as file:
            members = {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        if "allow_pickle" in str(error):
            raise DataError(
                f"{path} holds Python objects (dtype object), which are pickles and may run code; "
                "they are not read. Save numbers, with np.savez(path, x=inputs, y=target)."
            ) from None
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

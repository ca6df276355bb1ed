"""Checkpoints: a folder that is whole or absent, its weights in safetensors, never pickle."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from workbench.errors import RunFolderError
from workbench.files.input_file import check_file, is_there

WEIGHTS = "weights.safetensors"


def write_checkpoint(
    path: Path,
    weights: Mapping[str, np.ndarray],
    save_state: Callable[[Path], None] | None = None,
) -> None:
    """Write a checkpoint folder under a temporary name, then move it into place.

    Args:
        path: where the folder is to be.
        weights: parameters and buffers by name.
        save_state: writes what an engine keeps beside its weights into the folder it is given.

    Raises:
        RunFolderError: the folder that it is to be in is a link.
    """
    temporary = path.with_name(f".{path.name}")
    if path.parent.is_symlink():
        raise RunFolderError(f"{path.parent} is a link; checkpoints are written into no other.")
    shutil.rmtree(temporary, ignore_errors=True)
    # Only these two: a run folder that was removed is not made again.
    temporary.parent.mkdir(exist_ok=True)
    temporary.mkdir()
    try:
        # safetensors writes the buffer as it lies, so a transposed view must be copied first
        # (and ascontiguousarray would turn a scalar into a vector).
        save_file(
            {name: np.array(value, order="C", copy=True) for name, value in weights.items()},
            temporary / WEIGHTS,
        )
        if save_state is not None:
            save_state(temporary)
        if path.exists():
            shutil.rmtree(path)
        os.replace(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """The weights of the checkpoint folder `path`, by name.

    Raises:
        RunFolderError: there is no checkpoint, or its file is damaged.
    """
    if not is_there(path / WEIGHTS):
        raise RunFolderError(f"{path} holds no checkpoint: {WEIGHTS} is missing.")
    check_file(path / WEIGHTS, RunFolderError)
    try:
        return dict(load_file(path / WEIGHTS))
    except FileNotFoundError:
        raise RunFolderError(f"{path} holds no checkpoint: {WEIGHTS} is missing.") from None
    except (SafetensorError, OSError) as error:
        raise RunFolderError(f"{path / WEIGHTS} is damaged: {error}.") from None


def is_whole(path: Path) -> bool:
    """Whether `path` is a checkpoint folder whose weights have the length that they say."""
    weights = path / WEIGHTS
    if not weights.is_file():
        return False
    try:
        with safe_open(weights, "numpy"):
            return True
    except (SafetensorError, OSError):
        return False


def all_finite(weights: Mapping[str, np.ndarray]) -> bool:
    """Whether no weight is NaN or infinite."""
    return all(bool(np.isfinite(value).all()) for value in weights.values())

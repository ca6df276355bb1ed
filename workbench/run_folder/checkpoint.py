"""Checkpoints: folders written atomically, without pickle.

    weights.safetensors   parameters and buffers by name
    training.json         format, engine, progress of the training, and the SHA-256 of every file

and further state of the engine, such as that of its optimizer.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from workbench.errors import RunFolderError, value_text
from workbench.files.flush_to_disk import flush_to_disk
from workbench.files.format_version import refuse_newer_format
from workbench.files.input_file import check_file, path_exists
from workbench.files.json_file import read_json, write_json
from workbench.files.sha256 import sha256
from workbench.run_folder.records import check_record
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress

WEIGHTS = "weights.safetensors"
TRAINING = "training.json"

FORMAT_VERSION = 1
"""Version of training.json. Newer versions are rejected."""


def write_checkpoint(
    path: Path,
    weights: Mapping[str, np.ndarray],
    save_state: Callable[[Path], None] | None = None,
    progress: TrainingProgress | None = None,
    engine: str | None = None,
) -> None:
    """Write a checkpoint folder under a temporary name, then rename it.

    If the process is killed or the power fails, the previous checkpoint remains: the new one has
    its name, and its writer returns, only once its content is on the disk.

    Args:
        path: the folder to write.
        weights: parameters and buffers by name.
        save_state: writes further state of the engine into its argument, a folder.
        progress: progress of the training, for JSON; None: the run cannot be resumed from it.
        engine: name of the engine that can read its state back.

    Raises:
        RunFolderError: `path` or its parent folder is a symbolic link.
    """
    temporary = path.with_name(f".{path.name}")
    for place in (path.parent, path):
        if place.is_symlink():
            raise RunFolderError(f"{place} is a symbolic link; checkpoints are not written there.")
    shutil.rmtree(temporary, ignore_errors=True)
    # Only these two: a removed run folder must not be created again.
    temporary.parent.mkdir(exist_ok=True)
    temporary.mkdir()
    try:
        # safetensors writes the raw buffer, so a transposed view must be copied first
        # (and ascontiguousarray would turn a scalar into a vector).
        save_file(
            {name: np.asarray(value, order="C") for name, value in weights.items()},
            temporary / WEIGHTS,
        )
        if save_state is not None:
            save_state(temporary)
        if progress is not None:
            hashes = {file.name: sha256(file) for file in sorted(temporary.iterdir())}
            record = {"format": FORMAT_VERSION, "engine": engine, "files": hashes}
            write_json(temporary / TRAINING, {**record, "progress": progress.model_dump()})
        for written in (*temporary.iterdir(), temporary):
            flush_to_disk(written)
        if path.exists():
            # It is incomplete: the checkpointer keeps a complete one.
            shutil.rmtree(path)
        os.replace(temporary, path)
        flush_to_disk(path.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """The weights of the checkpoint folder `path`, by name.

    Raises:
        RunFolderError: there is no checkpoint, or its file is corrupt, also if it can be read but
            is not what was written.
    """
    _refuse_link(path)
    if not path_exists(path / WEIGHTS):
        raise RunFolderError(f"{path} holds no checkpoint: {WEIGHTS} is missing.")
    check_file(path / WEIGHTS, RunFolderError)
    _check_weights_hash(path)
    try:
        return dict(load_file(path / WEIGHTS))
    except FileNotFoundError:
        raise RunFolderError(f"{path} holds no checkpoint: {WEIGHTS} is missing.") from None
    except (SafetensorError, OSError) as error:
        raise RunFolderError(f"{path / WEIGHTS} is corrupt: {error}.") from None


def _check_weights_hash(path: Path) -> None:
    try:
        files = read_json(path / TRAINING).get("files")
    except FileNotFoundError:  # it was written by an older version
        return
    expected = files.get(WEIGHTS) if isinstance(files, dict) else None
    if expected is not None and sha256(path / WEIGHTS) != expected:
        raise RunFolderError(f"{path / WEIGHTS} is corrupt: its SHA-256 is not the recorded one.")


def latest_checkpoint(folder: RunFolder) -> Path | None:
    """The latest complete checkpoint of a run, which may be in progress; None: there is none."""
    listed = None
    # The worker writes a newer one before it removes one that was listed.
    while listed != (listed := folder.checkpoints()):
        for path in reversed(listed):
            if is_complete(path):
                return path
    return None


def read_latest_weights(folder: RunFolder) -> dict[str, np.ndarray] | None:
    """The weights of the latest complete checkpoint of a run, by name; None: there is none.

    Raises:
        RunFolderError: it is corrupt.
    """
    while (path := latest_checkpoint(folder)) is not None:
        try:
            return read_weights(path)
        except RunFolderError:
            if latest_checkpoint(folder) == path:  # the worker has not replaced it meanwhile
                raise
    return None


def without_checkpoint(folder: RunFolder) -> str:
    """Why a run has no complete checkpoint, as the end of a sentence."""
    corrupt = folder.checkpoints()
    if not corrupt:
        return "has written no checkpoint yet"
    return f"has no complete checkpoint: {corrupt[-1]} is corrupt or unfinished"


class ForeignCheckpointError(RunFolderError):
    """A complete checkpoint of a newer version or another engine."""


def read_progress(path: Path, engine: str | None = None) -> TrainingProgress:
    """The progress of the training in the checkpoint folder `path`, all hashes verified.

    Args:
        path: the folder.
        engine: name of the engine that is to continue; None: any.

    Raises:
        ForeignCheckpointError: it is from a newer version, or another engine wrote it.
        RunFolderError: a run cannot be resumed from it, or a file is missing or corrupt.
    """
    _refuse_link(path)
    try:
        record = read_json(path / TRAINING)
    except FileNotFoundError:
        raise RunFolderError(
            f"{path} has no {TRAINING}: it was written by an older version, and a run cannot be "
            "resumed from it. Start a new run with load_model(..., weights=...)."
        ) from None
    version = record.get("format", FORMAT_VERSION)
    if isinstance(version, int):
        remedy = " to resume the run"
        refuse_newer_format(version, FORMAT_VERSION, str(path), ForeignCheckpointError, remedy)
    check_record(_TrainingRecord, record, path / TRAINING)
    wrote = record.get("engine")
    if engine is not None and wrote is not None and wrote != engine:
        raise ForeignCheckpointError(
            f"{path} was written by engine {value_text(wrote)}, and the run trains with "
            f"{engine!r}, which cannot read its state. Start a new run with load_model(..., "
            f"weights={str(path / WEIGHTS)!r})."
        )
    progress = TrainingProgress.model_validate(record["progress"])
    if f"step-{progress.step:08d}" != path.name:
        raise RunFolderError(f"{path / TRAINING} is corrupt: it is of step {progress.step}.")
    if WEIGHTS not in record["files"]:
        raise RunFolderError(f"{path / TRAINING} is corrupt: it does not list {WEIGHTS}.")
    present = {file.name for file in path.iterdir() if file.is_file() and not file.is_symlink()}
    for name, expected in record["files"].items():
        file = path / name
        if name not in present:
            raise RunFolderError(f"{path} is incomplete: {value_text(name)} is missing.")
        if sha256(file) != expected:
            raise RunFolderError(f"{file} is corrupt: its SHA-256 is not the recorded one.")
    return progress


def is_complete(path: Path) -> bool:
    """Whether `path` is a checkpoint folder whose weights file has a valid header and length."""
    weights = path / WEIGHTS
    if path.is_symlink() or not weights.is_file():
        return False
    try:
        with safe_open(weights, "numpy"):
            return True
    except (SafetensorError, OSError):
        return False


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise RunFolderError(
            f"{path} is a symbolic link, not a checkpoint; links are not followed."
        )


class _TrainingRecord(BaseModel):
    """Contents of training.json."""

    model_config = ConfigDict(strict=True)

    format: int = FORMAT_VERSION
    engine: str | None = None
    progress: TrainingProgress
    files: dict[str, str]


def all_finite(weights: Mapping[str, np.ndarray]) -> bool:
    """Whether all weights are finite."""
    return all(bool(np.isfinite(value).all()) for value in weights.values())

"""What a run trained besides the names: modules and arrays of a notebook keep their names when a
cell assigns to them."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.files.json_file import read_json
from workbench.models import Model
from workbench.run_folder.run_folder import RunFolder

READ_BYTES = 1 << 16
"""Read at the start and at the end of each array: data that differ nowhere there are alike."""


def shapes_of_model(folder: RunFolder) -> str:
    """Shapes of one row of its inputs and outputs, as "8 → 3"; empty if they are not recorded.

    Args:
        folder: of the run. No code that it names is executed.
    """
    specs = _specs(folder)
    try:
        sides = [
            [_row_text(shape) for _, shape, _ in specs[side]] for side in ("inputs", "outputs")
        ]
    except (LookupError, TypeError, ValueError):
        return ""
    return _text(sides)


def structure_of_model(folder: RunFolder) -> str:
    """The `Model.structure` of what a run trained; empty if it is not recorded.

    Args:
        folder: of the run. No code that it names is executed.
    """
    specs = _specs(folder)
    found = specs.get("structure") if isinstance(specs, dict) else None
    return found if isinstance(found, str) else ""


def mark_of_data(folder: RunFolder) -> str:
    """Six hexadecimal digits that are those of other runs on the same rows; empty if they cannot be
    read.

    Args:
        folder: of the run.
    """
    return _mark(folder.data_path)


def shapes_of(model: Model) -> str:
    """The same of a model."""
    sides = (model.inputs, model.outputs)
    return _text([[_row_text(spec.shape) for spec in side] for side in sides])


def _text(sides: Sequence[Sequence[str]]) -> str:
    return " → ".join(", ".join(texts) for texts in sides)


def _row_text(shape: Sequence[int | str]) -> str:
    return "×".join(map(str, shape[1:])) or "1"  # noqa: RUF001


def _specs(folder: RunFolder) -> Any:
    """Of the module that it trained, as recorded; None if they are not."""
    path = folder.model_path / "model.json"
    try:
        # A resumed run may be given another model.
        return _read_specs(path, path.stat().st_mtime_ns)
    except OSError:
        return None


@functools.lru_cache(maxsize=1000)
def _read_specs(path: Path, _: int) -> Any:
    try:
        return read_json(path)["source"]["specs"]
    except (OSError, WorkbenchError, LookupError, TypeError):
        return None


@functools.lru_cache(maxsize=1000)
def _mark(data: Path) -> str:
    digest = hashlib.sha256()
    try:
        for path in sorted(data.glob("*.npy")):
            size = path.stat().st_size
            digest.update(f"{path.name} {size} ".encode())
            with path.open("rb") as file:
                digest.update(file.read(READ_BYTES))
                file.seek(max(0, size - READ_BYTES))
                digest.update(file.read(READ_BYTES))
    except OSError:
        return ""
    return digest.hexdigest()[:6]

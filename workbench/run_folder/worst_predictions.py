"""The rows that the last evaluation predicted worst, in a run folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from workbench.errors import RunFolderError
from workbench.files.json_file import read_json, write_json
from workbench.run_folder.records import check_record
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.statistics import Count

MOST_ROWS = 12
MOST_VALUES = 1024
"""Largest number of values of a row's prediction; further ones are left out."""

PredictionKind = Literal["class", "classes", "probabilities", "values"]
"""Kind of the prediction of a row: its class; a class for each position; of bce_with_logits, the
probability of 1 for each logit; or the output itself."""


class WorstRow(BaseModel):
    """One row."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    row: Count
    """Index in the test split."""
    loss: float | None = Field(allow_inf_nan=False)
    """Loss of the row as a single-row batch; None: not finite."""
    prediction: list[float | None] = Field(max_length=MOST_VALUES)
    """Flattened; classes are integers."""
    probability: float | None = Field(default=None, ge=0, le=1)
    """Probability of the predicted class, where the output contains it."""


class WorstPredictionsRecord(BaseModel):
    """The rows, those of the highest loss first."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    step: Count
    """Step after which they were predicted."""
    kind: PredictionKind
    rows: list[WorstRow] = Field(max_length=MOST_ROWS)


def write_worst_predictions(
    folder: RunFolder, step: int, kind: PredictionKind, rows: Sequence[dict[str, Any]]
) -> None:
    """Replace those of the previous evaluation.

    Raises:
        OSError: they cannot be written; a folder that was removed is not made again.
    """
    if not folder.path.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder.path))
    write_json(folder.worst_predictions_path, {"step": step, "kind": kind, "rows": list(rows)})


def read_worst_predictions(folder: RunFolder) -> WorstPredictionsRecord | None:
    """Those of the last evaluation; None where there are none.

    Raises:
        RunFolderError: the file is corrupt.
    """
    path = folder.worst_predictions_path
    try:
        content = read_json(path)
    except FileNotFoundError:
        return None
    check_record(WorstPredictionsRecord, content, path)
    return WorstPredictionsRecord.model_validate(content)


def forget_later_predictions(folder: RunFolder, step: int) -> None:
    """Remove predictions from after `step`, where a resumed run continues."""
    try:
        known = read_worst_predictions(folder)
    except RunFolderError:
        known = None
    if known is None or known.step > step:
        folder.worst_predictions_path.unlink(missing_ok=True)

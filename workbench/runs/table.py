"""The table of the recorded runs."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import ConfigError, RunFolderError
from workbench.run_folder.labels import labels_or_problem
from workbench.run_folder.run_folder import RunFolder, home
from workbench.runs.active import active_folders
from workbench.runs.run import Run
from workbench.runs.run_title import trained_by
from workbench.runs.trash import deleted_folders

if TYPE_CHECKING:
    import pandas as pd


def runs(*, active: bool = False, deleted: bool = False, tag: str | None = None) -> pd.DataFrame:
    """The runs in this working directory, newest first.

    Columns: id, model, engine, trained_by (the engine, and how many processes or clients share the
    work if several do), status, steps, loss (last recorded), samples_per_s, other_cores (how many
    cores other programs used meanwhile), duration_s, name (display name), tags, error (why it
    failed, or why its record is unreadable). No code that a record names is imported or executed.

    Args:
        active: only runs whose worker is alive, of all directories, with the additional column
            folder, which `load_run` accepts as well.
        deleted: the runs in the trash instead, last deleted first; see `undelete`.
        tag: only runs with this tag.

    Raises:
        RunFolderError: the folder of the runs cannot be read.
        ConfigError: both `active` and `deleted`.
    """
    import pandas as pd

    if active and deleted:
        raise ConfigError(["active=True and deleted=True exclude each other."])
    columns = ["id", "model", "engine", "trained_by", "status", "steps", "loss"]
    columns += ["samples_per_s", "other_cores", "duration_s", "name", "tags", "error"]
    if active:
        rows = [{**_row(path), "folder": str(path)} for path in active_folders()]
        columns.append("folder")
    else:
        paths = deleted_folders() if deleted else [*reversed(run_paths())]
        rows = [_row(path) for path in paths]
    if tag is not None:
        rows = [row for row in rows if tag in row["tags"]]
    return pd.DataFrame(rows, columns=columns)


def run_paths() -> list[Path]:
    """The folders of the runs in this working directory, by name."""
    folder = home() / "runs"
    try:
        entries = list(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunFolderError(
            f"{folder} cannot be read: {error.strerror}. Set WORKBENCH_HOME to a folder."
        ) from None
    return sorted(path for path in entries if os.path.lexists(path / "spec.json"))


def _row(path: Path) -> dict[str, Any]:
    try:
        run = Run(RunFolder(path))
    except RunFolderError as error:
        unknown = {"status": "unreadable", "name": "", "tags": (), "error": str(error)}
        return {"id": path.name, **unknown}
    labels, problem = labels_or_problem(run.folder)
    points = run.follow().poll()
    results = run.step_results(points)
    return {
        "id": run.id,
        "model": run.spec["model"],
        "engine": run.engine,
        "trained_by": trained_by(run.spec),
        "status": run.status,
        "steps": len(points.step),
        "loss": points.loss[-1] if len(points.loss) else float("nan"),
        "samples_per_s": results.samples_per_s,
        "other_cores": math.nan if results.load is None else results.load.other_cores,
        "duration_s": run.duration_s,
        "name": labels.name,
        "tags": labels.tags,
        "error": run.error or problem or None,
    }

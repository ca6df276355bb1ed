"""The Python code equivalent to the list of runs, for the selected ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.controller.code.comparison_lines import DISPLAY, runs_compared
from workbench.controller.code.free_names import free_name, taken_names, with_free_names
from workbench.controller.model.namespace import own_names
from workbench.runs.listing import RunRow

RESUMABLE = ("interrupted", "stopped", "failed")
ACTIVE = ("starting", "running", "paused")


def runs_code(rows: Sequence[RunRow], names: Mapping[str, Any] | None = None) -> str:
    """A program of public names.

    It only reads and shows; actions that change, start or write something are comments.

    Args:
        rows: the selected runs, or the open one; empty: the program lists all runs.
        names: objects of the notebook, which it must not replace; None: the current ones.
    """
    taken = taken_names(own_names() if names is None else names, ())
    lines = ["import workbench as wb", ""]
    if len(rows) > 1:
        lines = [DISPLAY, "", *lines]
    match list(rows):
        case []:
            lines += ["wb.runs()"]
        case [row]:
            lines += _of_one(row, free_name("run", taken))
        case many:
            lines += runs_compared([row.id for row in many])
    return with_free_names("\n".join(lines) + "\n", taken)


def _of_one(row: RunRow, run: str) -> list[str]:
    """For a run as the variable `run`."""
    if row.status == "unreadable":
        reason = " ".join(row.reason.split())
        return [f"# {row.id} cannot be read: {reason}", "wb.runs()"]
    further = {
        "Go back to the page as it was when this run was started": f"wb.Workbench.from_run({run})"
    }
    if row.status == "paused":
        further["Resume it"] = f"{run}.resume()"
    elif row.status in RESUMABLE:
        further["Resume it from its last checkpoint"] = f"{run} = wb.resume({run}).wait()"
    if row.status not in ACTIVE and row.steps:
        total = f"{row.step_word}s={2 * row.steps}"
        further["Train further from its last checkpoint"] = (
            f"{run} = wb.resume({run}, {total}).wait()"
        )
    if row.status in ACTIVE:
        further["Stop it; its checkpoint is kept"] = f"{run}.stop()"
    else:
        name = re.sub(r"[^\w.-]+", "-", row.model) or "model"
        further["Export the trained model"] = f"{run}.export({f'{name}.onnx'!r})"
    comments = [line for what, code in further.items() for line in (f"# {what}:", f"# {code}")]
    return [f"{run} = wb.load_run({row.id!r})", f"{run}.plot()", "", *comments]

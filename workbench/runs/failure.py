"""Why a run failed, from its record or from how its worker exited."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.child_process.exit_reason import describe_exit
from workbench.errors import RunFolderError
from workbench.run_folder.checkpoint import latest_checkpoint
from workbench.run_folder.run_folder import RunFolder
from workbench.runs.run_title import step_word
from workbench.runs.trash import is_deleted


def failure_cause(
    folder: RunFolder,
    exit_status: int | None,
    is_lost: Callable[[], bool],
    launched: float | None,
) -> dict[str, str] | None:
    """The type, message and traceback of a failure; None: the run has not failed.

    Args:
        folder: of the run.
        exit_status: of its worker, if this process started it and it has exited.
        is_lost: whether the worker has exited without a summary; asked if there is none.
        launched: time when the worker in question was started.
    """
    try:
        summary = folder.read_summary()
    except RunFolderError as error:
        return {"type": type(error).__name__, "message": str(error), "traceback": ""}
    if summary is not None:
        cause: dict[str, str] | None = summary.get("error")
        if "resume_error" in summary and launched != folder.read_spec().get("launched"):
            # The spec is restored: the run is as before, but its resumption has failed.
            cause = summary["resume_error"]
        return cause
    if not is_lost():
        return None
    if not folder.spec_path.exists():
        message = f"Its folder {folder.path} was removed during the run."
        if is_deleted(folder.id):
            message = f"It was deleted; wb.undelete({folder.id!r}) restores it."
        return {"type": "Removed", "message": message, "traceback": ""}
    if exit_status is not None:
        return describe_exit(folder.log_path, exit_status)
    message = "The worker process no longer exists and wrote no summary."
    return {"type": "Lost", "message": message, "traceback": ""}


def ends_early(events: Path, word: str, recorded: int, taken: int) -> str:
    """What is missing of a log that has fewer steps than were taken, in a sentence."""
    return f"{events} ends at {word} {recorded:,} of {taken:,}: the rest is missing."


def latest_step(folder: RunFolder) -> int | None:
    """The step of the latest checkpoint of a run, 0 at its start; None: there is none."""
    checkpoint = latest_checkpoint(folder)
    return None if checkpoint is None else int(checkpoint.name.removeprefix("step-"))


def kept_checkpoint(folder: RunFolder, spec: dict[str, Any]) -> str:
    """What is left of a run that failed, as a sentence after another; empty if nothing is."""
    step = latest_step(folder)
    if step is None:
        return ""
    if step == 0:
        return " It had no checkpoint later than its start: the run can only begin again."
    return f" Its checkpoint after {step_word(spec)} {step:,} is kept; the run can be resumed."


def log_line(folder: RunFolder) -> str:
    """Path of the log, on a separate line; empty if it was removed with the folder."""
    return f"\nLog: {folder.log_path}" if folder.path.exists() else ""

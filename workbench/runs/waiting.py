"""Waits for a run: until it has ended, or has written a checkpoint; the text of its failure."""

from __future__ import annotations

import time

from workbench.errors import RunError, WorkbenchError
from workbench.files.advisory_lock import is_locked
from workbench.progress import ProgressBar
from workbench.run_folder.control import request_save
from workbench.run_folder.results.step_results import StepResults
from workbench.runs.deadline import Deadline
from workbench.runs.failure import log_line
from workbench.runs.observed_run import ObservedRun
from workbench.runs.record.activity import Activity
from workbench.runs.run_title import failed_text

POLL_S = 0.05


def wait_until_ended(run: ObservedRun, timeout: float | None) -> None:
    """Wait until the run has ended and its record is complete; shows a progress bar in notebooks.

    Args:
        run: the run.
        timeout: in seconds; None: no limit.

    Raises:
        ConfigError: `timeout` is not a number of seconds.
        TimeoutError: the timeout expired; the run continues.
    """
    deadline = Deadline(timeout)
    with ProgressBar() as bar:
        while not run.ended:
            if deadline.passed:
                raise TimeoutError(f"Run {run.id} is still running after {timeout:g} s.")
            bar.show(*run.progress, f"{run.engine}: {run.phase}")
            time.sleep(POLL_S)
    while _is_being_recorded(run) and not deadline.passed:
        time.sleep(POLL_S)


def _is_being_recorded(run: ObservedRun) -> bool:
    """Whether the worker of a run that has ended still adds to its summary what its steps came
    to."""
    missing = StepResults.recorded(run.summary) is None
    return missing and is_locked(run.folder.lock_path)


def request_checkpoint(run: ObservedRun, activity: Activity, timeout: float | None) -> None:
    """Request a checkpoint and wait for it, unless the run has ended.

    Args:
        run: the run.
        activity: of the run.
        timeout: in seconds; None: no limit.

    Raises:
        ConfigError: `timeout` is not a number of seconds.
        RunError: the run failed before, or a weight is not finite.
        TimeoutError: it was not written in time; the request remains.
    """
    deadline = Deadline(timeout)
    if run.ended:
        return
    wanted = request_save(run.folder.control_path)
    while activity.now().answered_saves < wanted and not run.ended:
        if deadline.passed:
            raise TimeoutError(f"Run {run.id} has not saved within {timeout:g} s.")
        time.sleep(POLL_S)
    if activity.now().answered_saves < wanted:
        if run.status == "failed":
            raise RunError(f"Run {run.id} failed before it was saved: {run.error}")
    elif activity.save_refused_step is not None:
        raise RunError(
            f"Run {run.id} was not saved: at step {activity.save_refused_step} a weight is not "
            "finite. The last checkpoint is kept."
        )


def failure_text(run: ObservedRun, cause: dict[str, str]) -> str:
    """The message of the error for a failure: cause, path of the log, traceback of a crash."""
    what = f"{run.engine} {failed_text(run.spec, run.progress.done_steps)}"
    if run.status == "unreadable":
        what = f"The result of run {run.id} cannot be read"
    elif cause == (run.summary or {}).get("resume_error"):
        what = f"Run {run.id} could not be resumed and remains {run.status}"
    text = f"{what}: {cause['message']}{log_line(run.folder)}"
    if not cause["traceback"] or cause["type"] in _error_names():
        return text
    return f"{text}\n\n{cause['traceback'].strip()}"


def _error_names(kind: type[WorkbenchError] = WorkbenchError) -> set[str]:
    """Errors whose message is all that a user needs; the log has the traceback."""
    return {kind.__name__}.union(*map(_error_names, kind.__subclasses__()))

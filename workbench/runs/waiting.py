"""Waits for a run: until it has ended, or has written a checkpoint."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from workbench.errors import RunError
from workbench.progress import ProgressBar
from workbench.run_folder.control import request_save
from workbench.runs.deadline import Deadline
from workbench.runs.record.activity import Activity

if TYPE_CHECKING:
    from workbench.runs.run import Run

POLL_S = 0.05


def wait_until_ended(run: Run, timeout: float | None) -> None:
    """Wait until the run has ended; shows a progress bar in notebooks.

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


def request_checkpoint(run: Run, activity: Activity, timeout: float | None) -> None:
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

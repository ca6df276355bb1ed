"""The process of a worker around its training: it locks the run folder and writes the summary.

Exit status: 0 completed, stopped or interrupted; 1 failed, see the summary; 73 another worker uses
the run folder; 74 the run folder cannot be read or written.
"""

from __future__ import annotations

import contextlib
import faulthandler
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout

from workbench.child_process.exit_reason import EXIT_UNWRITABLE
from workbench.errors import RunFolderError, WorkbenchError
from workbench.files.disk import disk_problem
from workbench.run_folder.events import Event, EventReader
from workbench.run_folder.results.step_results import StepResults
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.run_reader import RunReader
from workbench.run_folder.worker_exit import (
    as_before_resuming,
    forget_previous,
    over_memory_limit,
)
from workbench.settings.config import read_config
from workbench.worker import memory
from workbench.worker.control import Control

EXIT_FAILED = 1
EXIT_BUSY = 73


class Train(Protocol):
    """Trains the run in a folder."""

    def __call__(
        self, folder: RunFolder, spec: dict[str, Any], control: Control, summary: dict[str, Any]
    ) -> None:
        """Train; results are added to `summary` as they become known."""
        ...


def main(train: Train) -> int:
    """Run the worker whose run folder the command line names."""
    folder = RunFolder(Path(sys.argv[1]))
    faulthandler.enable()
    try:
        with FileLock(folder.lock_path, timeout=0):
            return run(folder, train)
    except Timeout:
        log(f"Run {folder.id} already has a worker; two cannot share a folder.")
        return EXIT_BUSY
    except (RunFolderError, OSError) as error:
        log(disk_problem(error) or str(error))
        return EXIT_UNWRITABLE


def run(folder: RunFolder, train: Train) -> int:
    """Build the engine, train, and write the summary, also after an error."""
    spec = folder.read_spec()
    if folder.read_summary() is not None:
        raise RunFolderError(
            f"Run {folder.id} has ended; resume it with wb.resume, or start a new one."
        )
    engine = spec["config"]["engine"]
    try:
        control = Control(folder.control_path)
    except RunFolderError as error:
        log(str(error))
        failure = {"status": "failed", "error": describe(error)}
        end(folder, {"engine": engine, **failure, "ended": time.time()})
        return EXIT_FAILED
    resumed_from = spec.get("resumed_from") or 0
    earlier = earlier_evaluation(folder, resumed_from) if resumed_from else None
    control.exit_if_stopped_early(
        lambda: write_early_stop(folder, engine, control, resumed_from, earlier)
    )
    summary: dict[str, Any] = {"engine": engine, "error": None}
    try:
        train(folder, spec, control, summary)
        summary["evaluation"] = summary["evaluation"] or earlier
        limit_bytes = read_config(spec["config"]).worker_memory_bytes
        peak_bytes = summary.setdefault("peak_rss_bytes", memory.peak_rss_bytes())
        if limit_bytes is not None and peak_bytes > limit_bytes:
            # Training has ended before the watchdog looked again.
            summary.update(over_memory_limit(peak_bytes, limit_bytes))
            log(summary["error"]["message"])
    except Exception as error:
        log(traceback.format_exc())
        summary.update(status="failed", error=describe(error))
    summary.setdefault("peak_rss_bytes", memory.peak_rss_bytes())
    summary["ended"] = time.time()
    end(folder, summary)
    add_step_results(folder, spec)
    return EXIT_FAILED if summary["error"] else 0


def add_step_results(folder: RunFolder, spec: dict[str, Any]) -> None:
    """Add what the steps came to, also those before the run was resumed, to its summary. For a
    million steps it takes 0.3 s and 120 MB, so it comes after the summary: readers compute what is
    missing there."""
    try:
        points = RunReader(folder).poll()
        found = StepResults.of(points, read_config(spec["config"]))
        summary = folder.read_summary()
        # It may have been removed meanwhile. One of a run that could not be resumed is of before.
        if summary is not None and not summary.get("resume_error"):
            if summary["status"] == "failed":  # it did not come to the end, which tells it
                summary["evaluation"] = last_evaluation(points.events)
            paused = any(event["event"] == "paused" for event in points.events)
            folder.write_summary({**summary, **found.record(), "was_paused": paused})
    except Exception:
        log(traceback.format_exc())


def end(folder: RunFolder, summary: dict[str, Any]) -> None:
    """Write the summary; a run that could not be resumed keeps its earlier one."""
    if summary["error"]:
        summary = as_before_resuming(folder.path, summary)
    folder.write_summary(summary)
    forget_previous(folder.path)


def earlier_evaluation(folder: RunFolder, step: int) -> dict[str, Any] | None:
    """The last evaluation of a resumed run up to `step`, see `last_evaluation`."""
    events = EventReader(folder.events_path).poll()
    # The step of an unknown kind of event, from a newer version, may have any type.
    evaluations = [event for event in events if event["event"] == "evaluation"]
    return last_evaluation([event for event in evaluations if event["step"] <= step])


def last_evaluation(events: Sequence[Event]) -> dict[str, Any] | None:
    """The last evaluation among `events`, in the form of a summary; None without one."""
    for event in reversed(events):
        if event["event"] == "evaluation":
            return {name: event[name] for name in event.keys() - {"event", "time", "step", "epoch"}}
    return None


def describe(error: Exception) -> dict[str, str]:
    """The error record of a failed run."""
    message = str(error) or type(error).__name__
    problem = disk_problem(error)
    if problem is not None:
        message = f"{problem} Files written before are kept."
    elif not isinstance(error, WorkbenchError):
        message = f"{type(error).__name__}: {message}"
    return {
        "type": type(error).__name__,
        "message": message,
        "traceback": "".join(traceback.format_exception(error)),
    }


def log(message: str) -> None:
    """Write to the log; errors, as of a full disk, are ignored."""
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr)


def write_early_stop(
    folder: RunFolder,
    engine: str,
    control: Control,
    steps: int,
    evaluation: dict[str, Any] | None,
) -> None:
    """Write the summary of a run that is stopped before its first step.

    Args:
        folder: of the run.
        engine: its name.
        control: has the reason.
        steps: taken before it was resumed.
        evaluation: the last one, from before it was resumed.
    """
    end(
        folder,
        {
            "engine": engine,
            "error": None,
            "status": control.end_status,
            "reason": control.interruption if control.end_status == "interrupted" else "",
            "steps": steps,
            "evaluation": evaluation,
            "peak_rss_bytes": memory.peak_rss_bytes(),
            "ended": time.time(),
        },
    )

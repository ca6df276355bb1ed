"""Train one run: `python -m workbench.worker RUN_FOLDER`.

Exit status: 0 completed, stopped or interrupted; 1 failed, the summary says why; 73 another worker
has the run folder; 74 the run folder cannot be read or written.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from workbench.child_process.worker_end import EXIT_UNWRITABLE
from workbench.data import load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines import engine_class
from workbench.engines.base import Engine, EngineSetup
from workbench.errors import RunFolderError, WorkbenchError
from workbench.files.disk import disk_problem
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.config import read_config
from workbench.worker import memory
from workbench.worker.control import Control
from workbench.worker.loop import train

EXIT_FAILED = 1
EXIT_BUSY = 73


def main() -> int:
    folder = RunFolder(Path(sys.argv[1]))
    faulthandler.enable()
    try:
        with FileLock(folder.lock_path, timeout=0):
            return run(folder)
    except Timeout:
        say(f"Run {folder.id} already has a worker; two cannot share a folder.")
        return EXIT_BUSY
    except (RunFolderError, OSError) as error:
        say(disk_problem(error) or str(error))
        return EXIT_UNWRITABLE


def run(folder: RunFolder) -> int:
    """Build the engine, train, and write the summary, whatever happens."""
    spec = folder.read_spec()
    if folder.read_summary() is not None:
        raise RunFolderError(f"Run {folder.id} has ended; start a new one instead.")
    engine = spec["config"]["engine"]
    try:
        control = Control(folder.control_path)
    except RunFolderError as error:
        say(str(error))
        failure = {"status": "failed", "error": describe(error)}
        folder.write_summary({"engine": engine, **failure, "ended": time.time()})
        return EXIT_FAILED
    control.end_if_stopped_early(lambda: write_early_stop(folder, engine, control))
    summary: dict[str, Any] = {"engine": engine, "error": None}
    try:
        train_run(folder, spec, control, summary)
    except Exception as error:
        say(traceback.format_exc())
        summary.update(status="failed", error=describe(error))
    summary.setdefault("peak_rss_bytes", memory.peak_rss_bytes())
    summary["ended"] = time.time()
    folder.write_summary(summary)
    return EXIT_FAILED if summary["error"] else 0


def train_run(
    folder: RunFolder, spec: dict[str, Any], control: Control, summary: dict[str, Any]
) -> None:
    """Build the engine and train; how it went goes into `summary`, as far as it went."""
    config = read_config(spec["config"])
    events = EventWriter(folder.events_path)
    events.write("started", pid=os.getpid(), engine=config.engine)
    dataset = load_saved_dataset(folder.data_path)

    rss_before_bytes = memory.rss_bytes()
    engine = engine_class(config.engine)(
        EngineSetup(
            model_path=folder.model_path,
            artifacts_path=folder.artifacts_path,
            config=config,
            report=lambda text: events.write("phase", text=text),
            targets=target_specs(dataset.train.targets),
        )
    )
    events.write("built", rss_before_bytes=rss_before_bytes)

    summary["rss_before_bytes"] = rss_before_bytes
    try:
        result = train(folder, engine, dataset, config, control, events)
    finally:
        # To look at the graphs takes memory that training did not.
        summary["peak_rss_bytes"] = memory.peak_rss_bytes()
        summary["statistics"] = told_by(engine)
    evaluation = result.evaluation
    summary.update(
        status=result.status,
        reason=control.interruption if result.status == "interrupted" else "",
        steps=result.steps,
        evaluation=evaluation.record() if evaluation else None,
    )


def told_by(engine: Engine) -> dict[str, Any] | None:
    """The statistics of the engine; a run that trained is not lost for want of them."""
    try:
        statistics = engine.statistics()
    except Exception:
        say(traceback.format_exc())
        return None
    return statistics.model_dump(mode="json") if statistics else None


def describe(error: Exception) -> dict[str, str]:
    """What a watcher needs to explain a failure."""
    message = str(error) or type(error).__name__
    problem = disk_problem(error)
    if problem is not None:
        message = f"{problem} What was written before is kept."
    elif not isinstance(error, WorkbenchError):
        message = f"{type(error).__name__}: {message}"
    return {
        "type": type(error).__name__,
        "message": message,
        "traceback": "".join(traceback.format_exception(error)),
    }


def say(message: str) -> None:
    """Write to the log, which may be on a disk that is full."""
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr)


def write_early_stop(folder: RunFolder, engine: str, control: Control) -> None:
    folder.write_summary(
        {
            "engine": engine,
            "error": None,
            "status": control.end_status,
            "reason": control.interruption if control.end_status == "interrupted" else "",
            "steps": 0,
            "evaluation": None,
            "peak_rss_bytes": memory.peak_rss_bytes(),
            "ended": time.time(),
        }
    )


if __name__ == "__main__":
    sys.exit(main())

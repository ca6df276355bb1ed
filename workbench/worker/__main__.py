"""The worker process of a run: `python -m workbench.worker RUN_FOLDER`.

Exit status: 0 completed, stopped or interrupted; 1 failed, see the summary; 73 another worker uses
the run folder; 74 the run folder cannot be read or written.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout

from workbench.child_process.exit_reason import EXIT_UNWRITABLE
from workbench.child_process.quick_exit import quick_exit
from workbench.child_process.worker_exit import (
    as_before_resuming,
    forget_previous,
    over_memory_limit,
)
from workbench.data import load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines import engine_class
from workbench.engines.base import Engine, EngineSetup
from workbench.engines.data_parallel.ranks import Ranks
from workbench.errors import EngineError, RunFolderError, WorkbenchError
from workbench.files.disk import disk_problem
from workbench.machine.garbage_collection import infrequent_garbage_collection
from workbench.run_folder.checkpoint import read_progress
from workbench.run_folder.events import EventReader, EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress
from workbench.run_folder.worst_predictions import forget_later_predictions
from workbench.settings.config import read_config
from workbench.worker import memory
from workbench.worker.control import Control
from workbench.worker.loop import TrainingLoop

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
    return EXIT_FAILED if summary["error"] else 0


def end(folder: RunFolder, summary: dict[str, Any]) -> None:
    """Write the summary; a run that could not be resumed keeps its earlier one."""
    if summary["error"]:
        summary = as_before_resuming(folder.path, summary)
    folder.write_summary(summary)
    forget_previous(folder.path)


def train_run(
    folder: RunFolder,
    spec: dict[str, Any],
    control: Control,
    summary: dict[str, Any],
    ranks: Ranks | None = None,
) -> None:
    """Build the engine and train; results are added to `summary` as they become known.

    Args:
        folder: of the run.
        spec: the record of what to train.
        control: requests of its clients.
        summary: the record of the result.
        ranks: the processes that train together, of which this is rank 0; None: this one alone.
    """
    config = read_config(spec["config"])
    events = EventWriter(folder.events_path)
    events.write("started", pid=os.getpid(), engine=config.engine)
    dataset = load_saved_dataset(folder.data_path)
    checkpoint, progress = last_checkpoint(folder, spec)

    rss_before_bytes = sum(ranks.rss_before_bytes) if ranks else memory.rss_bytes()
    resident_sets = memory.ResidentSets(ranks.pids if ranks else ())
    engine = build_engine(
        EngineSetup(
            model_path=folder.model_path,
            artifacts_path=folder.artifacts_path,
            config=ranks.config_of_rank(config) if ranks else config,
            report=lambda text: events.write("phase", text=text),
            targets=target_specs(dataset.train.targets),
            checkpoint=checkpoint,
            ranks=ranks,
            fresh_process=True,
        )
    )
    events.write("built", rss_before_bytes=rss_before_bytes)
    if checkpoint is not None:
        events.write("restored", step=progress.step)
        forget_previous(folder.path)
        forget_later_predictions(folder, progress.step)

    summary["rss_before_bytes"] = rss_before_bytes
    try:
        result = TrainingLoop(
            folder, engine, dataset, config, control, events, progress, resident_sets
        ).run()
    finally:
        # Before the statistics, which take memory that training did not.
        peaks = resident_sets.peaks()
        summary["peak_rss_bytes"] = sum(peaks)
        if ranks:
            summary["rank_peak_rss_bytes"] = peaks
        summary["statistics"] = collect_statistics(engine)
    evaluation = result.evaluation
    summary.update(
        status=result.status,
        reason=control.interruption if result.status == "interrupted" else result.reason,
        steps=result.steps,
        evaluation=evaluation.record() if evaluation else None,
    )


def build_engine(setup: EngineSetup) -> Engine:
    """Build the engine of the config.

    Raises:
        EngineError: it cannot be built, or it cannot restore the state in the checkpoint.
    """
    try:
        with infrequent_garbage_collection():
            return engine_class(setup.config.engine)(setup)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        if setup.checkpoint is None:
            raise
        raise EngineError(
            f"{setup.checkpoint} cannot be restored by engine {setup.config.engine!r}: "
            f"{type(error).__name__}: {error}. It is corrupt, or of another model or version."
        ) from error


def last_checkpoint(
    folder: RunFolder, spec: dict[str, Any]
) -> tuple[Path | None, TrainingProgress]:
    """The checkpoint that a resumed run continues from, and its progress; none for a new run.

    Raises:
        RunFolderError: it is missing or corrupt.
    """
    step = spec.get("resumed_from")
    if step is None:
        return None, TrainingProgress()
    path = folder.checkpoint_path(step)
    return path, read_progress(path, spec["config"]["engine"])


def earlier_evaluation(folder: RunFolder, step: int) -> dict[str, Any] | None:
    """The last evaluation of a resumed run up to `step`, in the form of a summary; None without
    one."""
    found = None
    for event in EventReader(folder.events_path).poll():
        if event["event"] == "evaluation" and event["step"] <= step:
            found = event
    if found is None:
        return None
    return {name: found[name] for name in found.keys() - {"event", "time", "step", "epoch"}}


def collect_statistics(engine: Engine) -> dict[str, Any] | None:
    """The statistics of the engine; an error is logged and does not fail the run."""
    try:
        statistics = engine.statistics()
    except Exception:
        log(traceback.format_exc())
        return None
    return statistics.model_dump(mode="json") if statistics else None


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


if __name__ == "__main__":
    quick_exit(main(train_run))

"""Training of a run in its worker: builds the engine and runs the loop."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Any

from workbench.data import load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines import engine_class
from workbench.engines.base import Engine, EngineSetup
from workbench.engines.data_parallel.ranks import Ranks
from workbench.errors import EngineError
from workbench.machine.garbage_collection import infrequent_garbage_collection
from workbench.run_folder.checkpoint import read_progress
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress
from workbench.run_folder.worker_exit import forget_previous
from workbench.run_folder.worst_predictions import forget_later_predictions
from workbench.settings.config import read_config
from workbench.worker import memory
from workbench.worker.control import Control
from workbench.worker.loop import TrainingLoop
from workbench.worker.process import log


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


def collect_statistics(engine: Engine) -> dict[str, Any] | None:
    """The statistics of the engine; an error is logged and does not fail the run."""
    try:
        statistics = engine.statistics()
    except Exception:
        log(traceback.format_exc())
        return None
    return statistics.model_dump(mode="json") if statistics else None

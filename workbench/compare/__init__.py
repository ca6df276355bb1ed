"""Comparisons: the same training by several engines, in lock step."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.compare.comparison import COLUMNS, MARK, Comparison
from workbench.compare.lockstep import Lockstep, make_plan
from workbench.compare.record import ComparisonRecord, SavedComparison, comparisons_folder
from workbench.data import Dataset
from workbench.errors import ConfigError, RunFolderError, nearest
from workbench.models import Model
from workbench.run_folder.run_folder import is_id, shortened
from workbench.runs import Run, load_run, prepare
from workbench.runs.launch import launch
from workbench.settings.config import TrainingConfig

__all__ = ["COLUMNS", "MARK", "Comparison", "compare", "load_comparison"]

DEFAULT_ENGINES = ("pytorch", "ondevice", "ortmodule")


def compare(
    model: Model | str | Path,
    data: Dataset | str | None = None,
    engines: Sequence[str] = DEFAULT_ENGINES,
    steps: int = 200,
    quiet_s: float = 0.0,
    **settings: Any,
) -> Comparison:
    """Train the same model with several engines in lock step; returns at once.

    Batches, initial weights, seed and threads are the same for every engine.

    Args:
        model: a `Model`, or what `load_model` takes.
        data: a `Dataset`, or what `load_dataset` takes; None: the dataset of the sample.
        engines: what to compare; `pytorch` is the reference where it is among them.
        steps: optimizer steps of each engine, warm-up included.
        quiet_s: wait until the machine has been quiet for so many seconds before anything starts;
            after two minutes more it starts all the same, and the result says so.
        **settings: fields of `TrainingConfig`.

    Raises:
        ConfigError: wrong settings or engines, all of them listed.
        ModelError: the model cannot be loaded.
        DataError: the dataset cannot be loaded or does not fit the model.
    """
    if "detached" in settings:
        raise ConfigError(
            ["detached: a comparison is driven by the process that started it, and ends with it."]
        )
    engines = [engines] if isinstance(engines, str) else list(engines)
    problems = [f"engines has {name!r} twice." for name in set(engines) if engines.count(name) > 1]
    if not engines:
        problems.append("engines=[]: name at least one engine.")
    if not _is_duration(quiet_s):
        problems.append(f"quiet_s={quiet_s!r}: a number of seconds, 0 or more.")
    if problems:
        raise ConfigError(problems)
    settings = {"evaluate": False, **settings, "steps": steps}
    loaded_model, dataset, first = prepare(model, data, {**settings, "engine": engines[0]})
    configs = {engines[0]: first}
    for engine in engines[1:]:
        configs[engine] = prepare(loaded_model, dataset, {**settings, "engine": engine})[2]
    plan = make_plan(steps, first.warmup_steps)
    record = ComparisonRecord(plan, engines)

    def start(engine: str, config: TrainingConfig) -> Run:
        folder, worker = launch(loaded_model, dataset, config, granted_steps=0)
        record.add_run(engine, folder.id)
        return Run(folder, worker=worker, model=loaded_model)

    lockstep = Lockstep(
        plan,
        {engine: functools.partial(start, engine, config) for engine, config in configs.items()},
        quiet_s=quiet_s,
        on_load=record.add_load,
    )
    lockstep.start()
    return Comparison(record.id, plan, engines, record.loads, lockstep=lockstep)


def load_comparison(comparison_id: str) -> Comparison:
    """A comparison of this working directory by its id.

    Nothing that its record or those of its runs name is imported, unpickled or run. A run that
    cannot be read is a row of the table that says so.

    Raises:
        RunFolderError: there is none, or its record is damaged.
    """
    if not isinstance(comparison_id, str):
        raise RunFolderError(f"{comparison_id!r} is no comparison: give its id.")
    folder = comparisons_folder()
    path = folder / f"{comparison_id}.json"
    if not is_id(comparison_id) or not _exists(path):
        known = [found.stem for found in folder.glob("*.json")]
        hint = nearest(comparison_id, known) if known else "There are no comparisons here yet."
        raise RunFolderError(f"No comparison {shortened(comparison_id)} in {folder}. {hint}")
    saved = SavedComparison.read(path)
    runs: dict[str, Run] = {}
    unreadable: dict[str, str] = {}
    for engine, run_id in saved.runs.items():
        try:
            runs[engine] = load_run(run_id)
        except RunFolderError as error:
            unreadable[engine] = str(error)
    return Comparison(
        comparison_id,
        saved.as_plan(),
        [*saved.engines],
        saved.as_loads(),
        runs=runs,
        unreadable=unreadable,
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long
        return False


def _is_duration(seconds: object) -> bool:
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return number and math.isfinite(seconds) and seconds >= 0  # type: ignore[arg-type, operator]

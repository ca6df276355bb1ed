"""`wb.compare`: trains a model with several engines in lockstep."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workbench.compare.comparison import Comparison
from workbench.compare.lockstep import Lockstep, make_plan
from workbench.compare.record import ComparisonRecord
from workbench.compare.recorded_throughputs import record_throughputs
from workbench.data import Dataset
from workbench.errors import ConfigError, value_text
from workbench.models import Model
from workbench.runs import Run, from_base, prepare
from workbench.runs.launch import launch
from workbench.settings.config import TrainingConfig
from workbench.settings.engines import BUILT_IN

DEFAULT_ENGINES = tuple(info.name for info in BUILT_IN if info.compared_by_default)

NOT_COMPARED = frozenset(
    {"early_stopping", "checkpoint_every", "checkpoint_every_s", "layer_statistics_every"}
)
"""Settings of a run that a comparison does not accept."""


def compare(
    model: Model | str | Path,
    data: Dataset | str | None = None,
    engines: Sequence[str] = DEFAULT_ENGINES,
    steps: int = 200,
    quiet_s: float = 0.0,
    *,
    base: Run | str | Path | None = None,
    base_except: Sequence[str] = (),
    **settings: Any,
) -> Comparison:
    """Train a model with several engines in lockstep; returns immediately.

    Batches, initial weights and seed are the same for all engines, and so is the number of threads
    unless it was not given and `wb.tune` has found another to be faster for an engine.

    Args:
        model: a `Model`, or what `load_model` takes.
        data: a `Dataset`, or an argument of `load_dataset`; None: the dataset of the sample.
        engines: the engines to compare; the reference is `pytorch` if given, else the first.
        steps: optimizer steps per engine, warm-up included.
        quiet_s: before starting, wait until the machine has been idle for this many seconds, at
            most two minutes longer; then it starts anyway, and the result contains a warning.
        base: initial checkpoint of every engine; see `train`.
        base_except: weights not taken from it.
        **settings: fields of `TrainingConfig`.

    Raises:
        ConfigError: invalid settings or engines; lists all of them.
        ModelError: the model cannot be loaded, or the weights of `base` do not fit it.
        DataError: the dataset cannot be loaded or does not fit the model.
    """
    given = [engines] if isinstance(engines, str) else engines
    names = list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(each, str) for each in names):
        raise ConfigError([f"engines={value_text(engines)}: give a list of names of engines."])
    engines = names
    _check_arguments(engines, quiet_s, settings)
    settings = {"evaluate": False, **settings, "steps": steps}
    loaded, origin = from_base(model, base, base_except)
    loaded_model, dataset, first = prepare(loaded, data, {**settings, "engine": engines[0]})
    configs = {engines[0]: first}
    for engine in engines[1:]:
        configs[engine] = prepare(loaded_model, dataset, {**settings, "engine": engine})[2]
    plan = make_plan(steps, first.warmup_steps)
    record = ComparisonRecord(plan, engines)

    def start(engine: str, config: TrainingConfig) -> Run:
        started = launch(
            *(loaded_model, dataset, config),
            granted_steps=0,
            comparison=record.id,
            base=origin,
        )
        record.add_run(engine, started.folder.id)
        return Run(started.folder, worker=started.worker, model=loaded_model, code=started.code)

    lockstep = Lockstep(
        plan,
        {engine: functools.partial(start, engine, config) for engine, config in configs.items()},
        quiet_s=quiet_s,
        on_load=record.add_load,
        on_end=functools.partial(record_throughputs, record.id),
    )
    lockstep.start()
    return Comparison(record.id, plan, engines, record.loads, lockstep=lockstep)


def _check_arguments(engines: list[str], quiet_s: Any, settings: dict[str, Any]) -> None:
    """Raise a ConfigError that names all invalid arguments of a comparison."""
    if "detached" in settings:
        raise ConfigError(
            [
                "detached is not supported: a comparison is controlled by the process that started "
                "it, and ends with it."
            ]
        )
    problems = [
        f"engines contains {name!r} twice." for name in set(engines) if engines.count(name) > 1
    ]
    if not engines:
        problems.append("engines=[]: give at least one engine.")
    if not _is_duration(quiet_s):
        problems.append(f"quiet_s={quiet_s!r} must be a number of seconds, 0 or more.")
    problems += [
        f"{name} would disturb the measurement or end an engine early: leave it to train()."
        for name in sorted(NOT_COMPARED & settings.keys())
    ]
    if problems:
        raise ConfigError(problems)


def _is_duration(seconds: object) -> bool:
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return number and math.isfinite(seconds) and seconds >= 0  # type: ignore[arg-type, operator]

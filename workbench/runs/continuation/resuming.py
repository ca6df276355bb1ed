"""Resumes a run that has ended, in its own folder, from its last checkpoint."""

from __future__ import annotations

import math
import os
import shutil
import time
from pathlib import Path
from typing import Any

from workbench.data import load_saved_dataset
from workbench.errors import ConfigError, ModelError, RunError, RunFolderError, nearest
from workbench.load import load_model
from workbench.lora.adapter import without_adapters
from workbench.lora.linear_weight import LinearWeight
from workbench.losses.loss_functions import code_of, write_functions
from workbench.models import Model, load_saved
from workbench.run_folder.checkpoint import ForeignCheckpointError, read_progress, read_weights
from workbench.run_folder.control import create_control
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.worker_exit import PREVIOUS, forget_previous, restore_previous
from workbench.runs.adapted_weights import recorded_weights
from workbench.runs.cleanup import remove_abandoned_files
from workbench.runs.continuation.replaced_model import replace_model, restore_model
from workbench.runs.continuation.resuming_federated import (
    CHANGEABLE_FEDERATED,
    refuse_deployed,
    with_rounds,
)
from workbench.runs.launch import (
    FEDERATED_WORKER,
    WORKER,
    Worker,
    locked_for_worker,
    start_worker,
    stop_grace_s,
)
from workbench.runs.record.duration import started_at
from workbench.runs.run import Run
from workbench.settings.config import TrainingConfig, make_config
from workbench.settings.engines import engine_info
from workbench.settings.federation import FederationOptions
from workbench.user_code.user_code import UserCode

CHANGEABLE = frozenset({
    "steps", "epochs", "learning_rate", "evaluate", "evaluate_every", "early_stopping",
    "checkpoint_every", "checkpoint_every_s", "threads", "warmup_steps", "memory_limit_bytes",
    "layer_statistics_every", "loss", "device_kernels",
})  # fmt: skip
"""Settings that may differ when a run is resumed; a loss only to pass its function again."""


def resume_run(
    run: Run, *, model: Model | str | Path | None, detached: bool, settings: dict[str, Any]
) -> Run:
    """See `workbench.resume`; `run` is a `Run`."""
    folder = run.folder
    federation = run.spec.get("federation")
    if federation is not None:
        refuse_deployed(run)
    _refuse_fixed(settings, CHANGEABLE if federation is None else CHANGEABLE_FEDERATED)
    if federation is not None:
        federation, settings = with_rounds(federation, settings)
    config = _changed(run, settings)
    if config.early_stopping is not None and load_saved_dataset(folder.data_path).test is None:
        raise ConfigError(["early_stopping needs a test split, and the run has none."])
    if any(loss.custom and loss.function is None for loss in config.losses) and "loss" in settings:
        raise ConfigError(["loss=: give the function itself. One from a record is never executed."])
    given = model if isinstance(model, Model | None) else load_model(model)
    if not run.ended:
        raise RunError(f"Run {run.id} is {run.status}; stop it before it is resumed.")
    with locked_for_worker(folder) as lock:
        restore_model(folder)
        restore_previous(folder.path)
        step = _step_to_resume_from(run, config)
        # All checks come before anything is written.
        _check_code(run, given, config, settings)
        stop_grace_s()
        remove_abandoned_files(folder.path.parent)
        if given is not None:
            _check_model(given, folder, step, recorded_weights(run.spec))
            replace_model(folder, given)
        if "loss" in settings:
            losses = write_functions(config.losses, folder.model_path)
            config = config.model_copy(update={"loss": losses})
        code = _code(run, given, config, settings)
        _remove_later_checkpoints(folder, step)
        spec = {**run.spec, "config": config.model_dump(), "resumed_from": step}
        spec |= {"detached": detached, "launched": time.time(), **_earlier(run)}
        spec["federation"] = federation
        worker = _start(folder, spec, config, code, lock, detached)
    return Run(folder, worker=worker, model=given or run.model, code=code)


def _earlier(run: Run) -> dict[str, float | None]:
    """Time of the first launch of a run, and seconds in progress until now, for its spec."""
    first, seconds = started_at(run.spec), run.duration_s
    known = {"first_launched": first, "earlier_s": seconds}
    return {name: None if math.isnan(value) else value for name, value in known.items()}


def _record_resuming(folder: RunFolder, step: int) -> None:
    events = EventWriter(folder.events_path)
    try:
        events.write("resuming", step=step)
    finally:
        events.close()


def _remove_later_checkpoints(folder: RunFolder, step: int) -> None:
    """Remove the checkpoints after `step`, which are corrupt: else they would be exported."""
    checkpoints = folder.checkpoints()
    used = checkpoints.index(folder.checkpoint_path(step))
    folder.remove_checkpoints(checkpoints[used + 1 :])


def _step_to_resume_from(run: Run, config: TrainingConfig) -> int:
    """The step of the latest checkpoint.

    Raises:
        ConfigError: all steps are done, and the run has not failed.
        RunFolderError: there is none.
    """
    step = _newest_step(run.folder, config.engine)
    total = config.total_steps(run.spec["samples"])
    # One that was killed after its last checkpoint has still to be evaluated.
    unfinished = step == total and run.status == "failed" and run.federation is None
    if step >= total and not unfinished:
        name, others = ("steps", ", or epochs=.")
        if run.federation is not None:
            name, others = ("rounds", ".")
        raise ConfigError(
            [
                f"Run {run.id} has taken {step} of {total} {name}. Give a larger total: "
                f"resume(run, {name}={2 * step}){others}"
            ]
        )
    return step


def _check_model(
    model: Model, folder: RunFolder, step: int, adapted: tuple[LinearWeight, ...]
) -> None:
    """Refuse a model whose weights are not those of the checkpoint.

    Raises:
        ModelError: names a weight that differs.
    """
    weights = without_adapters(read_weights(folder.checkpoint_path(step)), adapted)
    kept = {name: value.shape for name, value in weights.items()}
    own = {name: value.shape for name, value in model.weights().items()}
    differing = sorted(name for name in kept.keys() | own.keys() if kept.get(name) != own.get(name))
    if differing:
        name = differing[0]
        raise ModelError(
            f"Model {model.name!r} is not the one that run {folder.id} trains: weight {name!r} has "
            f"shape {own.get(name, 'none')} and in the checkpoint {kept.get(name, 'none')}."
        )


def _start(
    folder: RunFolder,
    spec: dict[str, Any],
    config: TrainingConfig,
    code: UserCode,
    lock: int | None,
    detached: bool,
) -> Worker:
    """Start the worker without the old summary, which would say that the run has ended.

    The old records are kept beside the new ones until the worker has restored the checkpoint.
    """
    forget_previous(folder.path)
    shutil.copy(folder.spec_path, _previous(folder.spec_path))
    if folder.summary_path.exists():
        os.replace(folder.summary_path, _previous(folder.summary_path))
    try:
        folder.write_spec(spec)
        create_control(folder.control_path, None)
        _record_resuming(folder, spec["resumed_from"])
        package = WORKER if spec["federation"] is None else FEDERATED_WORKER
        return start_worker(folder, config, code, lock, detached, package)
    except BaseException:
        restore_previous(folder.path)
        raise


def _previous(path: Path) -> Path:
    return path.with_name(PREVIOUS[path.name])


def _refuse_fixed(settings: dict[str, Any], changeable: frozenset[str]) -> None:
    """Raise for settings that cannot differ in a run that continues.

    Raises:
        ConfigError: names them.
    """
    fixed = [name for name in settings if name not in changeable]
    if fixed:
        raise ConfigError(
            [
                f"{name} cannot change in a run that is resumed. {nearest(name, changeable)}"
                if name in TrainingConfig.model_fields or name in FederationOptions.model_fields
                else f"{name} is not a setting. {nearest(name, changeable)}"
                for name in fixed
            ]
        )


def _changed(run: Run, settings: dict[str, Any]) -> TrainingConfig:
    """The settings of `run`, updated with `settings`.

    Raises:
        ConfigError: one of them is wrong.
    """
    if "epochs" in settings and "steps" not in settings:
        settings = {**settings, "steps": None}
    kept = {name: getattr(run.config, name) for name in TrainingConfig.model_fields}
    return make_config({**kept, **settings})


def _newest_step(folder: RunFolder, engine: str) -> int:
    """The step of the newest complete checkpoint.

    Raises:
        RunFolderError: there is none; the message has the problem of the newest. Or a newer version
            or another engine wrote a later one, which continuing would remove.
    """
    problem: RunFolderError | None = None
    for path in reversed(folder.checkpoints()):
        try:
            step = read_progress(path, engine).step
        except ForeignCheckpointError:
            raise
        except RunFolderError as error:
            problem = problem or error
        else:
            return step
    raise problem or RunFolderError(f"Run {folder.id} has written no checkpoint to continue from.")


def _check_code(
    run: Run, given: Model | None, config: TrainingConfig, settings: dict[str, Any]
) -> None:
    """Refuse user code that only the record names.

    Raises:
        ModelError: the model needs it, and the call gave no model.
        ConfigError: a loss needs it, and the call gave no loss.
    """
    if run.code is not None or _needs_no_code(run, config):
        return
    if given is None and not load_saved(run.folder.model_path).buildable:
        raise ModelError(
            f"The model of run {run.id} is built by your own code, which is not executed from a "
            "record. Pass the model too: resume(run, model=wb.load_model(...))."
        )
    if "loss" not in settings and any(loss.custom for loss in config.losses):
        raise ConfigError(
            [
                f"The loss of run {run.id} is your own function, which is not executed from a "
                "record. Pass the function too: resume(run, loss=...)."
            ]
        )


def needs_model(run: Run) -> bool:
    """Whether `run` can only be resumed with its model: its own code, which is not executed from a
    record, builds it."""
    known = run.code is not None or _needs_no_code(run, run.config)
    return not known and not load_saved(run.folder.model_path).buildable


def _code(
    run: Run, given: Model | None, config: TrainingConfig, settings: dict[str, Any]
) -> UserCode:
    """The user code that the worker may execute, from this process only: of the objects saved
    now."""
    if _needs_no_code(run, config):
        return UserCode()
    code = run.code or UserCode()
    if given is not None:
        code = code.merged_with(given.code)
    return code.merged_with(code_of(config.losses)) if "loss" in settings else code


def _needs_no_code(run: Run, config: TrainingConfig) -> bool:
    """Whether artifacts hold the model and its losses."""
    return engine_info(config.engine).trains_artifacts and _has_artifacts(run.folder)


def _has_artifacts(folder: RunFolder) -> bool:
    return folder.artifacts_path.is_dir() and any(folder.artifacts_path.iterdir())

"""Starts the worker process of a run."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from workbench.child_process import child
from workbench.child_process.watchdog import STOP_GRACE_S, Watch
from workbench.data import Dataset
from workbench.errors import ConfigError, RunError
from workbench.extensions.native_extension import native_extension
from workbench.files.advisory_lock import acquire_lock
from workbench.files.disk import disk_errors
from workbench.files.regular_file import open_regular
from workbench.lora.linear_weight import LinearWeight, targeted_weights
from workbench.losses.loss_functions import code_of, write_functions
from workbench.machine.machine import describe_machine, package_versions
from workbench.models import Model
from workbench.models.cached_model import exporting_environment
from workbench.run_folder.control import create_control
from workbench.run_folder.run_folder import RunFolder, folder_name
from workbench.runs.cleanup import remove_abandoned_files
from workbench.settings.config import TrainingConfig
from workbench.settings.engines import GraphKind
from workbench.user_code.user_code import UserCode

GRACE_VARIABLE = "WORKBENCH_STOP_GRACE_S"
"""Seconds that a worker has to stop before it is killed; default `STOP_GRACE_S`."""

SUMMARY_BYTES = 16384
"""Disk space reserved for the summary: more than that of a failed run takes."""

EXIT_WAIT_S = 30.0
"""How long to wait for the old worker of an ended run to exit."""

WORKER, FEDERATED_WORKER = "workbench.worker", "workbench.flower"
"""The packages whose `__main__` is the worker of a run."""

AGENT = "workbench.ranks"
"""The package whose `__main__` replaces the worker where several processes train."""

Worker = subprocess.Popen[bytes]
"""The watchdog process of a worker, which exits with the worker's status."""


class Launched(NamedTuple):
    """A started run."""

    folder: RunFolder
    worker: Worker
    code: UserCode
    """The user code that the worker may execute."""


def launch(
    model: Model,
    dataset: Dataset,
    config: TrainingConfig,
    *,
    granted_steps: int | None = None,
    comparison: str | None = None,
    detached: bool = False,
    base: dict[str, Any] | None = None,
    federation: Callable[[RunFolder], dict[str, Any]] | None = None,
) -> Launched:
    """Write a run folder and start its worker.

    Args:
        model: the model to train.
        dataset: the training data.
        config: the settings.
        granted_steps: steps that the worker may take before it waits for more; None: all.
        comparison: id of the comparison that the run is a part of.
        detached: the worker continues after this process has ended.
        base: origin of the initial weights of the model, for the record.
        federation: writes the data of the clients of a federated run, and returns its record.

    Raises:
        RunFolderError: the run folder cannot be written; it is removed.
        RunError: the process cannot be started.
    """
    folder = RunFolder.create(f"{folder_name(model.name)}-{config.engine}")
    try:
        with locked_for_worker(folder) as lock:
            remove_abandoned_files(folder.path.parent)
            config = write_run_folder(
                folder,
                model,
                dataset,
                config,
                granted_steps=granted_steps,
                comparison=comparison,
                detached=detached,
                base=base,
                federation=federation,
            )
            code = model.code.merged_with(code_of(config.losses))
            package = WORKER if federation is None else FEDERATED_WORKER
            worker = start_worker(folder, config, code, lock, detached, package)
            return Launched(folder, worker, code)
    except BaseException:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise


@contextmanager
def locked_for_worker(folder: RunFolder) -> Iterator[int | None]:
    """Hold the lock of the run's watchdog, which inherits it from `start_worker`.

    Raises:
        RunError: another process is starting or running its worker.
        RunFolderError: the run folder cannot be written, by this or within the block.
    """
    lock = None
    try:
        with disk_errors(folder.path):
            lock = acquire_watchdog_lock(folder)
            # Reserves disk space for the summary; the watchdog frees it.
            folder.watchdog_lock_path.write_bytes(bytes(SUMMARY_BYTES))
            yield lock
    finally:
        if lock is not None:
            os.close(lock)


def acquire_watchdog_lock(folder: RunFolder) -> int | None:
    """Acquire the lock; a watchdog keeps it for a moment after the summary is written.

    Returns:
        See `acquire_lock`.

    Raises:
        RunError: another process is starting or running the worker.
        OSError: it cannot be opened.
    """
    deadline = time.monotonic() + EXIT_WAIT_S
    while True:
        try:
            return acquire_lock(folder.watchdog_lock_path, wait=False)
        except BlockingIOError:
            started_again = not folder.summary_path.exists()
            if started_again or time.monotonic() > deadline:
                raise RunError(f"Run {folder.id} is still running or starting.") from None
        time.sleep(0.02)


def write_run_folder(
    folder: RunFolder,
    model: Model,
    dataset: Dataset,
    config: TrainingConfig,
    *,
    granted_steps: int | None = None,
    comparison: str | None = None,
    detached: bool = False,
    base: dict[str, Any] | None = None,
    federation: Callable[[RunFolder], dict[str, Any]] | None = None,
) -> TrainingConfig:
    """Write the input of a worker into a new run folder; the arguments are those of `launch`.

    Returns:
        The config as written.
    """
    model.save(folder.model_path)
    losses = write_functions(config.losses, folder.model_path)
    config = config.model_copy(update={"loss": losses})
    dataset.save(folder.data_path)
    create_control(folder.control_path, granted_steps)
    folder.write_spec(
        {
            "config": config.model_dump(),
            "model": model.name,
            "model_file": None if model.file is None else str(model.file.absolute()),
            "dataset": dataset.name,
            "samples": len(dataset.train),
            "detached": detached,
            "comparison": comparison,
            "base": base,
            "federation": None if federation is None else federation(folder),
            "adapted_weights": _adapted_weights(model, config),
            "machine": describe_machine(),
            "versions": package_versions(),
            "launched": time.time(),
        }
    )
    return config


def _adapted_weights(model: Model, config: TrainingConfig) -> list[LinearWeight] | None:
    """The adapted weights for the record, used to merge adapters where the model cannot be
    built."""
    if config.lora is None:
        return None
    return targeted_weights(model.linear_weights, model.parameter_shapes, config.lora)


def start_worker(
    folder: RunFolder,
    config: TrainingConfig,
    code: UserCode,
    lock: int | None,
    detached: bool,
    package: str = WORKER,
) -> Worker:
    """Start the worker of a complete run folder.

    Args:
        folder: the run folder.
        config: the settings in it.
        code: the user code that the worker may execute.
        lock: from `locked_for_worker`.
        detached: the worker continues after this process has ended.
        package: package whose `__main__` is the worker.

    Raises:
        RunError: the process cannot be started.
    """
    several = package == WORKER and config.processes > 1
    watch = Watch(
        [*child.command(AGENT if several else package), str(folder.path)],
        parent=None if detached else os.getpid(),
        folder=str(folder.path),
        engine=config.engine,
        memory_limit_bytes=config.worker_memory_bytes,
        cores=config.worker_cores,
        grace_s=stop_grace_s(),
    )
    descriptor = open_regular(folder.log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(descriptor, "wb") as log:
        try:
            worker = subprocess.Popen(
                watch.arguments(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=worker_environment(config, code),
                pass_fds=() if lock is None else (lock,),
                # Ctrl-C in the terminal or the notebook kernel must not reach the worker.
                start_new_session=True,
            )
        except OSError as error:
            raise RunError(f"The worker process cannot be started: {error}.") from error
    # Reaps the process when it exits.
    threading.Thread(target=worker.wait, name=f"reap-{folder.id}", daemon=True).start()
    return worker


def stop_grace_s() -> float:
    """Seconds that a worker has to stop, from `GRACE_VARIABLE` if it is set.

    Raises:
        ConfigError: it is not a number of seconds.
    """
    text = os.environ.get(GRACE_VARIABLE)
    if not text:
        return STOP_GRACE_S
    try:
        grace_s = float(text)
    except ValueError:
        grace_s = math.nan
    if not (math.isfinite(grace_s) and grace_s >= 0):
        raise ConfigError([f"{GRACE_VARIABLE}={text!r} must be a number of seconds, 0 or more."])
    return grace_s


def worker_environment(config: TrainingConfig, code: UserCode) -> Mapping[str, str]:
    """The environment variables of a worker.

    Args:
        config: the settings.
        code: the user code that it may execute: of the model and of the losses.
    """
    environment = exporting_environment(code, config.threads_of_a_process)
    if config.graphs == GraphKind.ORTMODULE and not _uses_pytorch_kernels(config):
        # Otherwise PyTorch's idle threads spin on the cores that ONNX Runtime needs: a BERT step
        # took 1.2 times as long, and several times that beside other programs.
        environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    return environment


def _uses_pytorch_kernels(config: TrainingConfig) -> bool:
    """Whether ORTModule runs long operators by PyTorch's kernels, in PyTorch's thread pool."""
    return config.ortmodule.pytorch_kernels in ("auto", "all") and not native_extension().problem

"""Starts the worker process of a run and looks after its end."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping

from workbench.child_process.watchdog import STOP_GRACE_S, Watch
from workbench.data import Dataset
from workbench.errors import ConfigError, RunError
from workbench.extensions.native_extension import native_extension
from workbench.files.disk import writing
from workbench.files.folder_lock import hold
from workbench.losses.loss_functions import code_of, write_functions
from workbench.machine.machine import describe_machine, package_versions
from workbench.models import Model
from workbench.run_folder.control import create_control
from workbench.run_folder.run_folder import RunFolder, folder_name, home
from workbench.runs.leftovers import remove_leftovers
from workbench.settings.config import TrainingConfig
from workbench.user_code.user_code import UserCode

GRACE_VARIABLE = "WORKBENCH_STOP_GRACE_S"
"""Seconds that a worker has to act on a stop before it is killed; `STOP_GRACE_S` if not set."""

SUMMARY_BYTES = 16384
"""More than a summary of a failure takes."""

Worker = subprocess.Popen[bytes]
"""The watchdog of a worker, which ends as the worker did."""


def launch(
    model: Model,
    dataset: Dataset,
    config: TrainingConfig,
    *,
    granted_steps: int | None = None,
    detached: bool = False,
) -> tuple[RunFolder, Worker]:
    """Write a run folder and start its worker.

    Args:
        model: what to train.
        dataset: what to train it on.
        config: how.
        granted_steps: how many steps the worker may take before it waits for more; None: all.
        detached: the worker goes on when this process ends.

    Raises:
        RunFolderError: the run folder cannot be written; nothing of it is left.
        RunError: no process can be started.
    """
    with writing(home() / "runs"):
        folder = RunFolder.create(f"{folder_name(model.name)}-{config.engine}")
        lock = hold(folder.watchdog_lock_path)
    try:
        with writing(folder.path):
            # Room for the summary on a disk that becomes full; the watchdog gives it back.
            folder.watchdog_lock_path.write_bytes(bytes(SUMMARY_BYTES))
        remove_leftovers(folder.path.parent)
        with writing(folder.path):
            config = write_run_folder(
                folder, model, dataset, config, granted_steps=granted_steps, detached=detached
            )
        worker = _start(folder, config, model.code, lock, detached)
    except BaseException:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    # Takes note of its end, so that it does not stay in the list of processes.
    threading.Thread(target=worker.wait, name=f"watch-{folder.id}", daemon=True).start()
    return folder, worker


def write_run_folder(
    folder: RunFolder,
    model: Model,
    dataset: Dataset,
    config: TrainingConfig,
    *,
    granted_steps: int | None = None,
    detached: bool = False,
) -> TrainingConfig:
    """Write all that a worker needs into a new run folder; the arguments are those of `launch`.

    Returns:
        The config as it is written there.
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
            "dataset": dataset.name,
            "samples": len(dataset.train),
            "detached": detached,
            "machine": describe_machine(),
            "versions": package_versions(),
            "launched": time.time(),
        }
    )
    return config


def _start(
    folder: RunFolder,
    config: TrainingConfig,
    model_code: UserCode,
    lock: int | None,
    detached: bool,
) -> Worker:
    watch = Watch(
        [sys.executable, "-P", "-m", "workbench.worker", str(folder.path)],
        parent=None if detached else os.getpid(),
        folder=str(folder.path),
        engine=config.engine,
        memory_limit_bytes=config.memory_limit_bytes,
        grace_s=_stop_grace_s(),
    )
    with writing(folder.log_path):
        log = folder.log_path.open("wb")
    with log:
        try:
            return subprocess.Popen(
                watch.arguments(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=worker_environment(config, model_code),
                pass_fds=() if lock is None else (lock,),
                # An interrupt in the terminal or kernel is the watcher's to handle.
                start_new_session=True,
            )
        except OSError as error:
            raise RunError(f"The worker process cannot be started: {error}.") from error


def _stop_grace_s() -> float:
    """Seconds that a worker has to act on a stop.

    Raises:
        ConfigError: the variable that sets them holds no such number.
    """
    text = os.environ.get(GRACE_VARIABLE)
    if not text:
        return STOP_GRACE_S
    try:
        grace_s = float(text)
    except ValueError:
        grace_s = math.nan
    if not (math.isfinite(grace_s) and grace_s >= 0):
        raise ConfigError([f"{GRACE_VARIABLE}={text!r}: a number of seconds, 0 or more."])
    return grace_s


def worker_environment(config: TrainingConfig, model_code: UserCode) -> Mapping[str, str]:
    """The environment variables that a worker starts with.

    Args:
        config: its losses as `write_functions` returned them.
        model_code: what the worker runs to build the model.
    """
    environment = {
        **model_code.and_that(code_of(config.losses)).environment(),
        "OMP_NUM_THREADS": str(config.threads),
        "PYTHONUNBUFFERED": "1",
    }
    if config.engine == "ortmodule" and not _uses_pytorch_kernels(config):
        # PyTorch's threads wait busily for their next part, on the cores that ONNX Runtime's need:
        # a step of a BERT took 1.2 times as long.
        environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    return environment


def _uses_pytorch_kernels(config: TrainingConfig) -> bool:
    """Whether the long operators of ORTModule's graphs are PyTorch's: one pool works at a time."""
    return config.ortmodule.pytorch_kernels and not native_extension().problem

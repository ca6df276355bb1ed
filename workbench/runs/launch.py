"""Starts the worker process of a run and looks after its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from workbench.config import TrainingConfig
from workbench.control import create_control
from workbench.data import Dataset
from workbench.machine import describe_machine, package_versions
from workbench.models import Model
from workbench.models.loss_functions import code_of, write_functions
from workbench.native_extension import native_extension
from workbench.run_folder import RunFolder, folder_name
from workbench.user_code import UserCode

LOG_TAIL_LINES = 12

Worker = subprocess.Popen[bytes]


def launch(
    model: Model, dataset: Dataset, config: TrainingConfig, *, granted_steps: int | None = None
) -> tuple[RunFolder, Worker]:
    """Write a run folder and start its worker.

    Args:
        model: what to train.
        dataset: what to train it on.
        config: how.
        granted_steps: how many steps the worker may take before it waits for more; None: all.
    """
    folder, config = write_run_folder(model, dataset, config, granted_steps=granted_steps)
    worker = _start(folder, config, model.code)
    threading.Thread(
        target=_see_to_the_end, args=(folder, worker), name=f"watch-{folder.id}", daemon=True
    ).start()
    return folder, worker


def write_run_folder(
    model: Model, dataset: Dataset, config: TrainingConfig, *, granted_steps: int | None = None
) -> tuple[RunFolder, TrainingConfig]:
    """A new run folder with all that a worker needs; the arguments are those of `launch`.

    Returns:
        The folder, and the config as it is written there.
    """
    folder = RunFolder.create(f"{folder_name(model.name)}-{config.engine}")
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
            "machine": describe_machine(),
            "versions": package_versions(),
            "launched": time.time(),
        }
    )
    return folder, config


def _start(folder: RunFolder, config: TrainingConfig, model_code: UserCode) -> Worker:
    with folder.log_path.open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "workbench.worker", str(folder.path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=worker_environment(config, model_code),
            # An interrupt in the terminal or kernel is the watcher's to handle, not the worker's.
            start_new_session=True,
        )


def worker_environment(config: TrainingConfig, model_code: UserCode) -> Mapping[str, str]:
    """The environment variables that a worker starts with.

    Args:
        config: its losses as `write_functions` returned them.
        model_code: what the worker runs to build the model.
    """
    environment = {
        **model_code.and_that(code_of(config.losses)).environment(),
        "WORKBENCH_PARENT_PID": str(os.getpid()),
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


def _see_to_the_end(folder: RunFolder, worker: Worker) -> None:
    """Wait for the worker; when it died without a summary, write one that says how."""
    status = worker.wait()
    if folder.summary_path.exists():
        return
    # A full disk leaves no room for the summary either; then the exit status tells `Run.error`.
    with contextlib.suppress(OSError):
        folder.write_summary(
            {"status": "failed", "error": describe_death(folder, status), "ended": time.time()}
        )


def describe_death(folder: RunFolder, exit_status: int) -> dict[str, str]:
    """Why a worker that left no summary ended, from its exit status and the end of its log."""
    if exit_status < 0:
        name = signal.Signals(-exit_status).name
        hint = {
            "SIGKILL": " Something ended it from outside; often the system, out of memory.",
            "SIGSEGV": " Native code crashed.",
            "SIGFPE": " Native code crashed: ONNX Runtime does so on some graphs.",
            "SIGABRT": " Native code gave up.",
        }.get(name, "")
        message = f"The worker was ended by {name}.{hint}"
        kind = name
    else:
        message = f"The worker ended with exit status {exit_status} and no summary."
        kind = "Exit"
    return {"type": kind, "message": message, "traceback": log_tail(folder.log_path)}


def log_tail(path: Path) -> str:
    """The last lines of a worker's log."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-LOG_TAIL_LINES:])

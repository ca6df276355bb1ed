"""A child process that runs exported models."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import numpy as np

from workbench.errors import EngineError
from workbench.inference.messages import receive, send


class InferenceProcess:
    """Runs ONNX models, each loaded at its first use. Safe to use from several threads.

    The process starts when this is created, waits without load, and ends with `close` or with this
    process.
    """

    def __init__(self, threads: int = 1) -> None:
        """Start the process.

        Args:
            threads: intra-op threads of each model.
        """
        self._lock = threading.Lock()
        self._closing = False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 -- as long as the process
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", "workbench.inference", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            start_new_session=True,
        )

    def __enter__(self) -> InferenceProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, model: Path, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs of `model` by name.

        Args:
            model: an ONNX file, which must not change while this process lives.
            inputs: arrays by input name, float32, int64 or bool.

        Raises:
            EngineError: ONNX Runtime cannot load or run it, or the process has ended.
        """
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        with self._lock:
            try:
                send(self._child.stdin, {"model": str(model)}, inputs)
                answer = receive(self._child.stdout)
            except (BrokenPipeError, ValueError):  # it has exited, or was closed
                answer = None
            except BaseException:
                # Interrupted: the next request would receive the answer to this one, also while the
                # process is still ending.
                self._child.kill()
                self._child.wait()
                raise
            if answer is None:
                raise EngineError(f"The process that runs {model} has ended.{self._reason()}")
        message, outputs = answer
        if "error" in message:
            raise EngineError(message["error"])
        return outputs

    def close(self) -> None:
        """End the process, also while it runs a model."""
        self._closing = True
        if self._child.poll() is None:
            self._child.kill()  # `run` holds the lock until its answer, or this, comes
        with self._lock:
            if self._child.stdin is not None and not self._child.stdin.closed:
                # What was not sent cannot be sent any more.
                self._child.communicate()
                self._log.close()

    def __del__(self) -> None:
        # The log was not opened: the process could not be started.
        if hasattr(self, "_child"):
            self.close()

    def _reason(self) -> str:
        """Why the process ended; called under the lock, as `close` closes the log."""
        if self._closing:
            return " It was closed."
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f" The last line of its log: {lines[-1]}" if lines else ""

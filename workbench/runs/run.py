"""The public `Run`: status, records and control of a training run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import ModelError, RunError
from workbench.files.input_file import display_path
from workbench.load import load_model
from workbench.lora.adapter_file import SUFFIX
from workbench.models import Model
from workbench.onnx_io.onnx_path import onnx_path
from workbench.quantization import Quantized, quantize
from workbench.run_folder.checkpoint import (
    read_latest_weights,
    without_checkpoint,
)
from workbench.run_folder.control import NO_LIMIT, RequestedState, grant, request_state
from workbench.run_folder.run_folder import RunFolder
from workbench.runs.export import export_weights
from workbench.runs.launch import Worker
from workbench.runs.observed_run import ObservedRun
from workbench.runs.waiting import failure_text, request_checkpoint, wait_until_ended
from workbench.user_code.user_code import UserCode

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Run(ObservedRun):
    """A training run, returned by `train` and `load_run`: its status, records and control."""

    def __init__(
        self,
        folder: RunFolder,
        *,
        worker: Worker | None = None,
        model: Model | None = None,
        code: UserCode | None = None,
    ) -> None:
        super().__init__(folder, worker=worker)
        self.model = model
        """The trained model, if this process started the run; else None."""
        self.code = code
        """The user code that the worker may execute, if this process started the run."""

    def save(self, timeout: float | None = None) -> Path:
        """Write a checkpoint after the current step and wait for it.

        Args:
            timeout: in seconds; None: no limit.

        Returns:
            The folder of the latest checkpoint.

        Raises:
            ConfigError: `timeout` is not a number of seconds.
            RunError: the run ended without a checkpoint, or a weight is not finite.
            TimeoutError: it was not written in time; the request remains.
        """
        request_checkpoint(self, self._activity, timeout)
        if (checkpoint := self.checkpoint) is None:
            raise RunError(f"Run {self.id} has written no checkpoint: {self.error or self.status}")
        return checkpoint

    def pause(self) -> None:
        """Pause before the next step."""
        self._request("pause")

    def resume(self) -> None:
        """Resume after a pause."""
        if self.spec.get("detached") and not self.ended:
            # Left by a process that exited during a single step. No lockstep controls such a run.
            grant(self.folder.control_path, NO_LIMIT)
        self._request("run")

    def stop(self) -> None:
        """Stop before the next step; a checkpoint and the summary are written."""
        self._request("stop")

    def wait(self, timeout: float | None = None) -> Run:
        """Wait until the run has ended.

        Args:
            timeout: in seconds; None: no limit.

        Raises:
            ConfigError: `timeout` is not a number of seconds.
            RunError: the run failed or could not be resumed, or its summary is corrupt.
            TimeoutError: the timeout expired; the run continues.
        """
        wait_until_ended(self, timeout)
        if cause := self._cause():
            raise RunError(failure_text(self, cause))
        return self

    def weights(self) -> dict[str, Any]:
        """Parameters and buffers of the latest complete checkpoint, by name, as numpy arrays.

        Raises:
            RunError: the run has written no checkpoint.
            RunFolderError: it is corrupt.
        """
        if (weights := read_latest_weights(self.folder)) is None:
            raise RunError(f"Run {self.id} {without_checkpoint(self.folder)}.")
        return weights

    def export(
        self,
        path: str | Path,
        model: Model | str | Path | None = None,
        *,
        merge_lora: bool = True,
    ) -> Path:
        """Export the trained model to ONNX for inference, with the latest complete checkpoint.

        Code that the run folder names is never executed. So a model that your own code builds, an
        `nn.Module` or a factory, can be exported in the process that called `train`, after
        on-device training, or by passing `model`.

        Args:
            path: the .onnx file to write; a missing folder is created. One that ends in
                ".onnx_adapter" gets the adapters of LoRA alone, which ONNX Runtime 1.20 and later
                load. Other suffixes are refused.
            model: the model that was trained: a `Model`, or an argument of `load_model`.
            merge_lora: merge the adapters into the weights; otherwise they are inputs of the graph,
                which are 0 where no adapter is loaded.

        Raises:
            RunError: the run has written no checkpoint.
            ModelError: your own code is needed to build the model and `model` is None; the weights
                do not fit the model; or the file cannot be written.
        """
        given = model if isinstance(model, Model | None) else load_model(model)
        place = onnx_path(path, or_suffix=SUFFIX)
        return export_weights(
            self.folder,
            place,
            self.weights(),
            given or self.model,
            lora=self.config.lora,
            merge_lora=merge_lora,
        )

    def quantize(
        self,
        path: str | Path,
        model: Model | str | Path | None = None,
        *,
        report: Callable[[str], None] | None = None,
    ) -> Quantized:
        """Export the trained model quantized to int8, and evaluate both on the test split.

        With convolutions the quantization is static, calibrated with rows of the training split,
        else dynamic. It runs in a child process. Arguments and errors are those of `export`, but
        adapters are not written alone; a model without anything to quantize is a ModelError.
        `report` is called with short progress texts; None: a progress bar in notebooks.

        Returns: size, loss and metrics of the float32 and of the int8 model.
        """
        if str(path).endswith(SUFFIX):
            raise ModelError(
                f"{display_path(Path(path))} is for adapters alone, which are float32: quantize "
                "the whole model to an .onnx file, or export the adapters with run.export."
            )
        return quantize(
            lambda to: self.export(to, model),
            onnx_path(path),
            data=self.folder.data_path,
            config=self.config,
            report=report,
        )

    def plot(self) -> Figure:
        """Plot loss, throughput and memory of the run; of a federated one rounds and clients."""
        from workbench.runs.figures.federation_figure import plot_federation
        from workbench.runs.figures.figure import plot_run

        return plot_run(self) if self.federation is None else plot_federation(self)

    def _request(self, state: RequestedState) -> None:
        if not self.ended:
            request_state(self.folder.control_path, state)

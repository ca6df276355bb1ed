"""ONNX Runtime's on-device training, without torch and onnx in the process.

The native classes behind `onnxruntime.training.api`, used directly: the package's Python classes
would import torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workbench.errors import EngineError
from workbench.ort.freed_memory import give_back_freed_memory
from workbench.ort.graph.profiles import profile_if_requested
from workbench.ort.native import native
from workbench.ort.ondevice.shared_arena import free_unused_memory, use_shared_arena
from workbench.ort.step_seeds import StepSeeds

TRAINING_PROFILE, OPTIMIZER_PROFILE = "training", "optimizer"
"""Prefixes of the names of a session's profiles."""

_ERROR = 3
"""Lowest severity of ONNX Runtime's log that is printed."""

_CPU = 0


class TrainingSession:
    """A training model, its eval model, its optimizer and the state that the three share."""

    def __init__(
        self,
        *,
        checkpoint: Path,
        training_model: Path,
        eval_model: Path,
        optimizer_model: Path,
        threads: int,
        seed: int,
        kernels: Path | None = None,
        region_bytes: int | None = None,
    ) -> None:
        """Load the models; the learning rate is ONNX Runtime's default until it is set.

        Args:
            checkpoint: written by `write_checkpoint`, or by `save` of a session.
            threads: size of each model's own pool.
            seed: seed of Dropout and other random nodes.
            kernels: the library of the workbench's kernels, if `training_model` uses them; see
                `device_kernels`.
            region_bytes: the least by which the memory of values grows, see `use_shared_arena`.

        Raises:
            EngineError: ONNX Runtime cannot load them.
        """
        ort = native()
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = _ERROR
        # An idle pool that spins takes the processor from the process that runs next.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # A pattern's block is allocated in addition to the arena's memory of the first step, which
        # is kept: the growth of two samples was 1.4 and 1.8 times as large.
        options.enable_mem_pattern = False
        # A value that takes over the memory of one before keeps it from the last reader of that:
        # the peak of transformers was up to a fifth higher.
        options.enable_mem_reuse = False
        # Gradients of weights are computed as early as possible, in the order of the file, not
        # after those of all activations, which would be kept until then.
        options.execution_order = ort.ExecutionOrder.PRIORITY_BASED
        use_shared_arena(options, region_bytes)
        profile_if_requested(options, TRAINING_PROFILE)
        device = ort.OrtDevice(_CPU, ort.OrtDevice.default_memory(), 0)
        ort.set_default_logger_severity(_ERROR)
        ort.set_seed(StepSeeds(seed).next())
        self.seed = ort.set_seed
        self._values = ort.OrtValueVector
        self._value = ort.OrtValue
        self._device = device
        self._save = ort.save_checkpoint
        try:
            if kernels is not None:
                options.register_custom_ops_library(str(kernels))
            self._state = ort.load_checkpoint(str(checkpoint))
            self._module = ort.Module(
                str(training_model), self._state, str(eval_model), device, options
            )
            profile_if_requested(options, OPTIMIZER_PROFILE)
            self._optimizer = ort.Optimizer(str(optimizer_model), self._state, device, options)
        except Exception as error:
            raise EngineError(
                f"ONNX Runtime cannot load the training artifacts in {training_model.parent} with "
                f"the checkpoint {checkpoint}: {str(error).strip().splitlines()[-1]} They do not "
                "belong together, or one is corrupt: generate the artifacts again."
            ) from error

    def set_learning_rate(self, learning_rate: float) -> None:
        self._optimizer.set_learning_rate(learning_rate)

    def backward(self, inputs: Sequence[np.ndarray]) -> float:
        """Forward and backward, no step; returns the loss. `gradient` returns the gradients.

        Args:
            inputs: as for `train_step`.
        """
        results = self._values()
        self._module.train_step(inputs, results)
        self._module.lazy_reset_grad()
        return float(results[0].numpy())

    def accumulate(self, inputs: Sequence[np.ndarray]) -> float:
        """Forward and backward, with the gradient kept for the next step; returns the loss.

        Args:
            inputs: as for `train_step`.
        """
        results = self._values()
        self._module.train_step(inputs, results)
        return float(results[0].numpy())

    def train_step(self, inputs: Sequence[np.ndarray]) -> float:
        """Forward, backward, optimizer step and gradient reset; returns the loss before the step.

        Args:
            inputs: the model's inputs, then the target; contiguous.
        """
        loss = self.accumulate(inputs)
        self.step()
        return loss

    def step(self) -> None:
        """Optimizer step with the accumulated gradient, and gradient reset."""
        self._optimizer.optimizer_step()
        self._module.lazy_reset_grad()

    def eval_results(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Every output of the eval model, in evaluation mode.

        Args:
            inputs: as for `train_step`.

        Returns:
            The loss, a scalar, the first output, (batch, ...), and the others.
        """
        results = self._values()
        self._module.eval_step(inputs, results)
        return [value.numpy() for value in results]

    def parameter(self, name: str) -> np.ndarray:
        """A copy of the parameter's value."""
        return np.array(self._state.get_parameter(name).data.numpy())

    def gradient(self, name: str) -> np.ndarray:
        """A copy of the gradient in the parameter's buffer after the last step."""
        return np.array(self._state.get_parameter(name).grad.numpy())

    def set_parameter(self, name: str, value: np.ndarray) -> None:
        """Replace the parameter's value; `value` has its shape and dtype."""
        native_value = self._value.ortvalue_from_numpy(np.asarray(value, order="C"), self._device)
        self._state.copy_parameter_from(name, native_value)

    def close(self) -> None:
        """Release the models, which writes their profiles; the session cannot be used
        afterwards."""
        del self._module, self._optimizer

    def save(self, path: Path) -> None:
        """Write parameters and optimizer state, from which a session can continue."""
        # ONNX Runtime writes the file to a buffer that grows by copying; malloc keeps that, like
        # the copy of the weights that was saved before.
        free_unused_memory()
        give_back_freed_memory()
        self._save(self._state, str(path), True)
        give_back_freed_memory()

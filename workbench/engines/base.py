"""The base class of engines, which take optimizer steps on batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.data import Batch
from workbench.errors import EngineError
from workbench.models import TensorSpec
from workbench.run_folder.operator_timing import StepWindow, Timing
from workbench.run_folder.statistics import Statistics
from workbench.settings.config import TrainingConfig

if TYPE_CHECKING:
    from workbench.engines.data_parallel.ranks import Ranks


class Availability(NamedTuple):
    """Whether an engine can run on this machine."""

    ok: bool
    reason: str = ""
    """Why not, in a sentence; empty when it can."""
    remedy: str = ""
    """The command that fixes it; empty if there is none."""


class EngineSetup(NamedTuple):
    """Arguments that a worker passes to an engine.

    Every path lies in the run folder of the worker.
    """

    model_path: Path
    """Folder written by `Model.save`."""
    artifacts_path: Path
    """Folder where an engine that needs training artifacts reads or writes them."""
    config: TrainingConfig
    report: Callable[[str], None]
    """Reports the current stage of a long preparation to the clients, in a few words."""
    targets: tuple[TensorSpec, ...] | None = None
    """Specs of the targets, for an engine that builds its loss beforehand."""
    checkpoint: Path | None = None
    """Folder of the checkpoint to continue from; None: begin with the model's own weights."""
    ranks: Ranks | None = None
    """The processes that train together; None: this one alone. `config` is that of this rank."""
    disable_randomness: bool = False
    """Whether `gradients` replaces random values, such as Dropout's mask, by constants that are the
    same for every engine."""
    fresh_process: bool = False
    """Whether this process was started for this engine alone and has not loaded the model before:
    the saved model, the settings and the code then determine what the engine exports."""


class Evaluation(NamedTuple):
    """One evaluated batch."""

    loss: float
    output: np.ndarray
    """The output that the first loss reads, float32, (batch, ...)."""
    terms: tuple[float, ...] = ()
    """With several losses, the contribution of each; their weights of batches differ where labels
    are ignored."""

    @property
    def losses(self) -> tuple[float, ...]:
        """Contribution of each loss to the sum; of a single loss, the loss."""
        return self.terms or (self.loss,)


class Gradients(NamedTuple):
    """The loss of one batch and its gradients."""

    loss: float
    """Loss of the forward pass in training mode."""
    gradients: dict[str, np.ndarray]
    """Gradient of the loss with respect to each trained parameter, by name, float32, of its shape.
    A parameter that the loss does not depend on may be left out."""


class ParameterNorms(NamedTuple):
    """Euclidean norms of one trained parameter in one step."""

    gradient: float
    """Norm of the gradient of the step, before clipping."""
    weight: float
    """Norm of the parameter before the step."""
    update: float
    """Norm of the update by the optimizer."""


class ObservedStep(NamedTuple):
    """Loss and norms of one step."""

    loss: float
    """As returned by `Engine.train_step`."""
    norms: dict[str, ParameterNorms]
    """By name of the trained parameter."""


class Engine(ABC):
    """Trains one model on one thread pool, inside its own worker process.

    A subclass does its slow work (imports, export, compilation) in `__init__`, not at import.
    """

    closed: bool = False
    """Whether it has let go of its models, so that it takes no further steps."""

    @classmethod
    @abstractmethod
    def availability(cls) -> Availability:
        """Whether this engine can run here. Must not import torch or onnxruntime."""

    @abstractmethod
    def __init__(self, setup: EngineSetup) -> None:
        """Build the engine with the model's initial weights.

        Raises:
            EngineError: it cannot run here.
            UntrainableError: it cannot train this model.
        """

    @abstractmethod
    def accumulate(self, batch: Batch) -> float:
        """Run forward and backward, and keep the gradient for the next `train_step`.

        The gradient of each batch is weighted by 1 / `gradient_accumulation`.

        Returns:
            The loss of the batch.
        """

    @abstractmethod
    def train_step(self, batch: Batch) -> float:
        """Run forward, backward, clipping, optimizer step and gradient reset.

        Returns:
            The loss of the batch before the step.
        """

    def observed_step(self, batch: Batch) -> ObservedStep:
        """Like `train_step`, and computes the norms of gradients and updates, which takes longer.

        Raises:
            EngineError: this engine does not support it.
        """
        raise EngineError(
            f"{type(self).__name__} cannot record layer statistics of a step of "
            f"{len(batch.target)} rows. Leave layer_statistics_every unset, or use another engine."
        )

    @abstractmethod
    def gradients(self, batch: Batch) -> Gradients:
        """Run forward and backward in training mode, without a step.

        Weights, optimizer and buffers, including running statistics, are unchanged afterwards.
        """

    @abstractmethod
    def evaluate(self, batch: Batch) -> Evaluation:
        """Loss and first output in evaluation mode; changes nothing."""

    @abstractmethod
    def set_learning_rate(self, learning_rate: float) -> None:
        """Use `learning_rate` from the next step on."""

    @abstractmethod
    def weights(self) -> dict[str, np.ndarray]:
        """A copy of every parameter and persistent buffer, by its name in the model."""

    @abstractmethod
    def load_weights(self, weights: dict[str, np.ndarray]) -> None:
        """Replace parameters and buffers by those given; the others keep their values."""

    def graph_timings(self, folder: Path, windows: Sequence[StepWindow]) -> list[list[Timing]]:
        """Time of each node of its graphs in each of the last steps, by ONNX Runtime's profiler.

        Called once; ends the profiles. A subclass that must be `closed` first documents it.

        Args:
            folder: contains the profiles of its sessions, which were loaded within `profiled`.
            windows: when each of these steps ran.

        Raises:
            EngineError: this engine has no such graphs.
        """
        raise EngineError(
            f"{type(self).__name__} cannot say what the {len(windows)} steps profiled in {folder} "
            'took: leave "onnxruntime" out of the profilers of its EngineInfo.'
        )

    def statistics(self) -> Statistics | None:
        """Statistics of the engine, reported at the end of a run; None: nothing to report."""
        return None

    @abstractmethod
    def save_state(self, folder: Path) -> None:
        """Write the training state other than the weights into a checkpoint's folder.

        An engine built with this checkpoint continues as this one does: the state of the optimizer
        and of random number generators.
        """

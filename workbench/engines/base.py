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
    """The one command that mends it; empty when there is none."""


class EngineSetup(NamedTuple):
    """What a worker hands to an engine.

    Every path lies in the run folder of the worker.
    """

    model_path: Path
    """Folder written by `Model.save`."""
    artifacts_path: Path
    """Where an engine that needs training artifacts finds or puts them."""
    config: TrainingConfig
    report: Callable[[str], None]
    """Tells the clients what a long preparation is doing, in a few words."""
    targets: tuple[TensorSpec, ...] | None = None
    """What batches compare with, for an engine that builds its loss beforehand."""
    checkpoint: Path | None = None
    """Folder of the checkpoint to continue from; None: begin with the model's own weights."""
    ranks: Ranks | None = None
    """The processes that train together; None: this one alone. `config` is that of this rank."""
    disable_randomness: bool = False
    """Whether what `gradients` would draw at random, Dropout above all, is a constant instead, the
    same for every engine."""


class Evaluation(NamedTuple):
    """One evaluated batch."""

    loss: float
    output: np.ndarray
    """The output that the first loss reads, float32, (batch, ...)."""
    terms: tuple[float, ...] = ()
    """Where there are several losses, what each adds to the loss; they weigh batches differently
    where labels are ignored."""

    @property
    def losses(self) -> tuple[float, ...]:
        """What each loss adds; of a single loss, the loss."""
        return self.terms or (self.loss,)


class Gradients(NamedTuple):
    """The loss of one batch and what it depends on."""

    loss: float
    """Of the forward pass in training mode."""
    gradients: dict[str, np.ndarray]
    """Of the loss to each parameter that trains, by its name in the model, float32, of its shape.
    A parameter that the loss does not depend on may be left out."""


class ParameterNorms(NamedTuple):
    """Euclidean norms of one trained parameter in one step."""

    gradient: float
    """Of the gradient of the step, before it is clipped."""
    weight: float
    """Of the parameter before the step."""
    update: float
    """Of what the optimizer adds to it."""


class ObservedStep(NamedTuple):
    """A step that was taken, and how large it was."""

    loss: float
    """As `Engine.train_step` gives it."""
    norms: dict[str, ParameterNorms]
    """By name of the parameter, for each that trains."""


class Engine(ABC):
    """Trains one model on one thread pool, inside a worker process of its own.

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
        """Feed the batch, forward and backward, and keep the gradient for the next `train_step`.

        Each of the batches of a step counts for 1 / `gradient_accumulation` of its gradient.

        Returns:
            The loss of the batch, read back.
        """

    @abstractmethod
    def train_step(self, batch: Batch) -> float:
        """Feed the batch, forward, backward, clipping, optimizer step, gradient reset.

        Returns:
            The loss of the batch before the step, read back.
        """

    def observed_step(self, batch: Batch) -> ObservedStep:
        """As `train_step`, and looks at gradients and updates, which takes longer.

        Raises:
            EngineError: this engine cannot.
        """
        raise EngineError(
            f"{type(self).__name__} cannot record layer statistics of a step of "
            f"{len(batch.target)} rows. Leave layer_statistics_every unset, or use another engine."
        )

    @abstractmethod
    def gradients(self, batch: Batch) -> Gradients:
        """Forward and backward in training mode, and no step.

        Weights, optimizer and buffers, running statistics among them, are as they were before.
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
        """What each node of its graphs took in each of the last steps, by ONNX Runtime's profiler.

        It is asked once, and ends the profiles; a subclass that must be `closed` for that says so.

        Args:
            folder: holds the profiles of its sessions, which were loaded within `profiled`.
            windows: when each of these steps ran.

        Raises:
            EngineError: this engine has no such graphs.
        """
        raise EngineError(
            f"{type(self).__name__} cannot say what the {len(windows)} steps profiled in {folder} "
            'took: leave "onnxruntime" out of the profilers of its EngineInfo.'
        )

    def statistics(self) -> Statistics | None:
        """What the engine did to train, reported at the end of a run; None: nothing to report."""
        return None

    @abstractmethod
    def save_state(self, folder: Path) -> None:
        """Write all that training depends on beside the weights into a checkpoint's folder.

        An engine that is built with this checkpoint continues as this one does: the state of the
        optimizer, and of what is drawn at random.
        """

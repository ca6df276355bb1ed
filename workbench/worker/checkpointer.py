"""Decides when a run saves its weights, and removes older checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from workbench.run_folder.checkpoint import all_finite, is_complete, write_checkpoint
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress
from workbench.settings.config import TrainingConfig

COST_SHARE = 0.005
"""Largest share of the training time that checkpoints at the ends of epochs may take."""


class Trained(Protocol):
    """The object that is trained: an engine, or the server of a federated run."""

    def weights(self) -> dict[str, np.ndarray]:
        """Parameters and buffers by name."""
        ...

    def save_state(self, folder: Path) -> None:
        """Write the rest of the training state into `folder`."""
        ...


class Checkpointer:
    """Keeps one checkpoint: the latest weights that are all finite."""

    def __init__(
        self,
        folder: RunFolder,
        trained: Trained,
        events: EventWriter,
        config: TrainingConfig,
        flush_steps: Callable[[], None],
    ) -> None:
        """Create a checkpointer.

        Args:
            folder: of the run.
            trained: object whose state is saved.
            events: where checkpoints are recorded.
            config: has the intervals.
            flush_steps: writes the steps so far: a checkpoint is never ahead of the record.
        """
        self._folder = folder
        self._trained = trained
        self._events = events
        self._flush_steps = flush_steps
        self._engine_name = config.engine
        self._every_steps = config.checkpoint_every
        self._every_s = config.checkpoint_every_s
        self._is_planned = self._every_steps is not None or self._every_s is not None
        self._not_before = self._saved_at = time.perf_counter()

    def save_if_due(self, progress: TrainingProgress, epoch_ended: bool) -> None:
        """Save at the configured interval; by default after an epoch, up to `COST_SHARE`."""
        if self._is_planned:
            if self._is_due(progress.step):
                self.save(progress)
        elif epoch_ended and time.perf_counter() >= self._not_before:
            self.save(progress)

    def _is_due(self, step: int) -> bool:
        if self._every_steps is not None and step % self._every_steps == 0:
            return True
        elapsed_s = time.perf_counter() - self._saved_at
        return self._every_s is not None and elapsed_s >= self._every_s

    def save(self, progress: TrainingProgress) -> bool:
        """Save the current state, unless it is already saved.

        Returns:
            Whether it is saved now; False if a weight is not finite.
        """
        started = time.perf_counter()
        path = self._folder.checkpoint_path(progress.step)
        saved = is_complete(path)
        if not saved:
            weights = dict(self._trained.weights())
            saved = all_finite(weights)
            if saved:
                self._flush_steps()
                older = [each for each in self._folder.checkpoints() if each != path]

                def save_state(temporary: Path, weights: dict[str, np.ndarray] = weights) -> None:
                    # Freed once written, as the engine needs as much memory for its state.
                    weights.clear()
                    self._trained.save_state(temporary)

                write_checkpoint(path, weights, save_state, progress, self._engine_name)
                self._events.write("checkpoint", step=progress.step)
                self._folder.remove_checkpoints(older)
        ended = time.perf_counter()
        self._saved_at = ended
        self._not_before = ended + (ended - started) / COST_SHARE
        return saved

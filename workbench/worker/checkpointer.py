"""When a run keeps its weights, and which of them."""

from __future__ import annotations

import time

from workbench.engines.base import Engine
from workbench.run_folder.checkpoint import all_finite, write_checkpoint
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder

COST_SHARE = 0.001
"""Checkpoints at the ends of epochs may take this share of the time, and no more."""


class Checkpointer:
    """Keeps the newest weights that are all finite; an older checkpoint goes when one is whole."""

    def __init__(self, folder: RunFolder, engine: Engine, events: EventWriter) -> None:
        self._folder = folder
        self._engine = engine
        self._events = events
        self._not_before = 0.0

    def save_if_due(self, step: int) -> None:
        """Save unless the last checkpoint was so recent that this one would slow training."""
        if time.perf_counter() >= self._not_before:
            self.save(step)

    def save(self, step: int) -> None:
        """Save the weights after `step`, unless one of them is not finite."""
        started = time.perf_counter()
        weights = self._engine.weights()
        if all_finite(weights):
            path = self._folder.checkpoint_path(step)
            older = [checkpoint for checkpoint in self._folder.checkpoints() if checkpoint != path]
            write_checkpoint(path, weights, self._engine.save_state)
            self._events.write("checkpoint", step=step)
            self._folder.remove_checkpoints(older)
        ended = time.perf_counter()
        self._not_before = ended + (ended - started) / COST_SHARE

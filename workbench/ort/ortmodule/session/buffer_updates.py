"""Running statistics: what a forward pass in training mode leaves in a module's buffers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch

from workbench.ort.ortmodule.capture.export import PREFIX
from workbench.ort.ortmodule.capture.layout import Slot
from workbench.trainable import StateUpdate


class BufferUpdates:
    """Puts new values into buffers, in place, and counts the batches as BatchNorm does."""

    def __init__(
        self,
        updates: Iterable[StateUpdate],
        normalizations: Mapping[str, int],
        buffers: Mapping[str, Slot],
    ) -> None:
        """Find the buffers.

        Args:
            updates: those that `apply` is given new values of.
            normalizations: running mean -> how many times a forward pass updates it.
            buffers: of the module, by name.
        """
        self._updated = [buffers[update.buffer.removeprefix(PREFIX)] for update in updates]
        counted = [
            (name.removeprefix(PREFIX).replace("running_mean", "num_batches_tracked"), times)
            for name, times in normalizations.items()
        ]
        self._counted = [(buffers[name], times) for name, times in counted if name in buffers]

    def apply(self, values: Sequence[torch.Tensor]) -> None:
        """Take over `values`, in the order of the graph's state updates."""
        for (registry, name), value in zip(self._updated, values, strict=True):
            registry[name].copy_(value)
        for (registry, name), times in self._counted:
            registry[name].add_(times)

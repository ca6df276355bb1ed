"""Running statistics: what a forward pass in training mode leaves in a module's buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from workbench.ort.ortmodule.capture.export import PREFIX
from workbench.ort.ortmodule.capture.layout import Slot
from workbench.ort.ortmodule.differentiate.buffer_changes import BufferChanges


class BufferUpdates:
    """Puts new values into buffers, in place, and counts the batches as BatchNorm does."""

    def __init__(
        self,
        changes: BufferChanges,
        buffers: Mapping[str, Slot],
    ) -> None:
        """Find the buffers.

        Args:
            changes: of a forward pass; `apply` is given the new values of its `updates`.
            buffers: of the module, by name.
        """
        self._updated = [buffers[update.buffer.removeprefix(PREFIX)] for update in changes.updates]
        counted = [
            (name.removeprefix(PREFIX).replace("running_mean", "num_batches_tracked"), times)
            for name, times in changes.normalizations.items()
        ]
        self._counted = [(buffers[name], times) for name, times in counted if name in buffers]

    def apply(self, values: Sequence[torch.Tensor]) -> None:
        """Take over `values`, in the order of the graph's state updates."""
        for (registry, name), value in zip(self._updated, values, strict=True):
            registry[name].copy_(value)
        for (registry, name), times in self._counted:
            registry[name].add_(times)

"""Applies a forward pass's updates of a module's buffers, such as running statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from workbench.ort.ortmodule.capture.export import STATE_PREFIX
from workbench.ort.ortmodule.capture.layout import Slot
from workbench.ort.ortmodule.differentiate.buffer_changes import BufferChanges


class BufferUpdates:
    """Writes new values into buffers, in place, and counts batches as BatchNorm does."""

    def __init__(
        self,
        changes: BufferChanges,
        buffers: Mapping[str, Slot],
    ) -> None:
        """Look up the buffers.

        Args:
            changes: of a forward pass; `apply` takes the new values of its `updates`.
            buffers: of the module, by name.
        """
        self._updated = [
            buffers[update.buffer.removeprefix(STATE_PREFIX)] for update in changes.updates
        ]
        counted = [
            (name.removeprefix(STATE_PREFIX).replace("running_mean", "num_batches_tracked"), times)
            for name, times in changes.normalizations.items()
        ]
        self._counted = [(buffers[name], times) for name, times in counted if name in buffers]

    @property
    def slots(self) -> list[Slot]:
        """Where the buffers are kept that a forward pass changes."""
        return [*self._updated, *(slot for slot, _ in self._counted)]

    def apply(self, values: Sequence[torch.Tensor]) -> None:
        """Write `values`, in the order of the graph's state updates."""
        for (registry, name), value in zip(self._updated, values, strict=True):
            registry[name].copy_(value)
        for (registry, name), times in self._counted:
            registry[name].add_(times)

"""Running statistics: what a forward pass in training mode leaves in a module's buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from workbench.ort.ortmodule.export import PREFIX
from workbench.ort.ortmodule.gradient import GradientGraph
from workbench.ort.ortmodule.layout import Slot


class BufferUpdates:
    """Puts new values into buffers, in place, and counts the batches as BatchNorm does."""

    def __init__(self, graph: GradientGraph, buffers: Mapping[str, Slot]) -> None:
        self._updated = [
            buffers[update.buffer.removeprefix(PREFIX)] for update in graph.report.state_updates
        ]
        counted = [
            (name.removeprefix(PREFIX).replace("running_mean", "num_batches_tracked"), times)
            for name, times in graph.normalizations.items()
        ]
        self._counted = [(buffers[name], times) for name, times in counted if name in buffers]

    def apply(self, values: Sequence[torch.Tensor]) -> None:
        """Take over `values`, in the order of the graph's state updates."""
        for (registry, name), value in zip(self._updated, values, strict=True):
            registry[name].copy_(value)
        for (registry, name), times in self._counted:
            registry[name].add_(times)

"""Updates of a module's buffers by its forward pass in training mode."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workbench.onnx_io.graph_metadata import uses_running_statistics
from workbench.trainable import StateUpdate

if TYPE_CHECKING:
    import onnx


class BufferChanges(NamedTuple):
    """The buffers that a forward pass updates."""

    updates: tuple[StateUpdate, ...]
    """One for each output of the graph that is the new value of a buffer, in their order."""
    normalizations: Counter[str]
    """Running mean -> number of updates by the forward pass."""


def normalizations_of(model: onnx.ModelProto) -> Counter[str]:
    """Running mean -> number of BatchNormalization nodes of `model` that update it.

    `model` must not be rewritten yet: `make_trainable` replaces such nodes.
    """
    return Counter(
        node.input[3]
        for node in model.graph.node
        if node.op_type == "BatchNormalization" and not uses_running_statistics(node)
    )

"""The report of making a graph trainable."""

from __future__ import annotations

from typing import Literal, NamedTuple

from workbench.trainable.custom_gradient import NodeGradient
from workbench.trainable.node_history import Replacement

State = Literal["trains", "rewritten", "cannot"]


class NodeFinding(NamedTuple):
    """Result for one node."""

    op: str
    node: str
    """Name of the node, or of its first output where it has none."""
    state: State
    note: str = ""
    """How it was rewritten, or why it cannot be trained through; empty for nodes that train
    unchanged."""
    remedy: str = ""
    """Suggested fix for a node that cannot be trained through."""
    layer: str = ""
    """The module that the node came from; empty if unknown."""


class StateUpdate(NamedTuple):
    """A buffer that a training step updates, such as a running mean."""

    buffer: str
    """Name of the buffer: an initializer of the graph."""
    output: str
    """Name of the graph output that holds its new value. The forward pass may also have written
    that value into the buffer itself."""


class Report(NamedTuple):
    """Changes made by `make_trainable`."""

    rewritten: tuple[NodeFinding, ...] = ()
    """One for each node that was rewritten, in the order of the graph."""
    state_updates: tuple[StateUpdate, ...] = ()
    """The outputs that were appended to the graph's, in this order."""

    gradients: tuple[NodeGradient, ...] = ()
    """Gradients that the workbench defines; the names of nodes are those of the rewritten graph."""

    replacements: tuple[Replacement, ...] = ()
    """Every node of the rewritten graph that a rewrite made or changed, in its order."""

    @property
    def changed(self) -> bool:
        """Whether the graph differs from the one given."""
        return bool(self.rewritten)

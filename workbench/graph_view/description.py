"""Description of a graph for display: nodes, values and groups, as positions in lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from workbench.errors import ConfigError, nearest

Kind = Literal["operator", "input", "output"]

Role = Literal["computed", "input", "parameter", "initializer"]

MADE_BY = ("export", "loss", "rewrite", "fusion", "gradient", "update", "lora")
"""See `workbench.artifacts.generation.provenance.NodeProvenance`."""

ROOT = 0
"""Position of the group that contains all others."""


def shape_text(shape: Sequence[int | str]) -> str:
    """A shape as people read it."""
    return " × ".join(map(str, shape)) or "scalar"  # noqa: RUF001


class Value(NamedTuple):
    """A tensor of the graph."""

    name: str
    dtype: str
    """As in numpy, such as "float32"; empty if unknown."""
    shape: tuple[int | str, ...] | None
    """Sizes, or names of dynamic axes; None if unknown."""
    role: Role
    """"initializer": a value that the file holds and that is not known to be a parameter."""

    @property
    def type_text(self) -> str:
        """The dtype, then the shape; empty if nothing is known."""
        shape = None if self.shape is None else shape_text(self.shape)
        return ", ".join(part for part in (self.dtype, shape) if part)


class Node(NamedTuple):
    """A node, or an input or output of the graph."""

    name: str
    """Its name, or that of its first output."""
    op: str
    """Operator type, "com.microsoft::Name" if its domain is not ONNX's default."""
    kind: Kind
    group: int
    """Position of its group."""
    inputs: tuple[int, ...]
    """Positions of values; -1 for an input that is left out."""
    outputs: tuple[int, ...]
    made_by: str = "export"
    """One of `MADE_BY`."""
    origins: tuple[int, ...] = ()
    """Positions in the forward graph of the nodes that it replaces."""
    note: str = ""
    layer: str = ""
    """The module that it comes from, such as "blocks.0.norm"; empty if unknown."""


class Group(NamedTuple):
    """Nodes of one module, of one pass, or a part of a long list of nodes."""

    path: str
    """Unique; "" for the root. Such as "forward/blocks/0"."""
    label: str
    parent: int
    """Position of the group around it; -1 for the root."""


class GraphDescription(NamedTuple):
    """One graph."""

    key: str
    """Such as "training"."""
    title: str
    nodes: tuple[Node, ...]
    """The operators in the order of the graph, then its inputs and outputs."""
    values: tuple[Value, ...]
    groups: tuple[Group, ...]
    """The root first; a group comes after the one around it."""
    notices: tuple[str, ...] = ()
    """Sentences on unexpected properties of the graph."""

    def find(self, name: str) -> int | None:
        """Position of the node with this name, or whose output has it."""
        for index, node in enumerate(self.nodes):
            if node.name == name:
                return index
        for index, node in enumerate(self.nodes):
            if any(self.values[value].name == name for value in node.outputs):
                return index
        return None

    def position(self, node: str | int) -> int:
        """Position of a node: given, or as of `find`.

        Raises:
            ConfigError: there is no such node.
        """
        index = self.find(node) if isinstance(node, str) else node
        if index is None or not 0 <= index < len(self.nodes):
            names = [each.name for each in self.nodes]
            hint = nearest(node, names) if isinstance(node, str) else ""
            raise ConfigError([f"{self.title} has no node {node!r}. {hint}".strip()])
        return index

    def groups_around(self, path: str) -> tuple[str, ...]:
        """The paths of a group and of those around it.

        Raises:
            ConfigError: there is no such group.
        """
        paths = self.group_paths()
        if path not in paths:
            raise ConfigError([f"{self.title} has no group {path!r}. {nearest(path, paths)}"])
        return tuple(each for each in paths if path == each or path.startswith(f"{each}/"))

    def group_paths(self) -> tuple[str, ...]:
        """The paths of all groups but the root."""
        return tuple(group.path for group in self.groups[1:])

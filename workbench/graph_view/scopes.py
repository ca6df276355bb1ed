"""The module that each node of a graph comes from."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.export.exported_graph import EXPORTED_STATE_PREFIX
from workbench.onnx_io.graph_metadata import LAYER, SCOPES

if TYPE_CHECKING:
    import onnx

Scope = tuple[str, ...]

BY_NAME = (
    "This file does not record which module a node comes from; groups are made from the beginnings "
    "of node names."
)
NO_SCOPES = (
    "This file does not record which module a node comes from, and its node names have no common "
    "beginnings; there are no groups by module."
)
_LONGEST = 10_000
"""Characters of a metadata entry that is read."""
_SMALLEST = 3
"""Graphs with fewer nodes need no groups."""


def scopes_of(nodes: Sequence[onnx.NodeProto]) -> tuple[list[Scope], tuple[str, ...]]:
    """The path of modules of each node, and a notice if it is a guess.

    It is what the exporter recorded, if it recorded anything. Otherwise it is the part of the
    node's name before the last "/", or before the last "." where names have no "/".
    """
    recorded = [_recorded(node) for node in nodes]
    if any(recorded) or len(nodes) < _SMALLEST:
        return recorded, ()
    for separator in ("/", "."):
        named = [_beginning(node.name, separator) for node in nodes]
        if sum(map(bool, named)) * 2 >= len(nodes):
            return named, (BY_NAME,)
    return recorded, (NO_SCOPES,)


def split_layer(layer: str) -> Scope:
    """The path of a module's name, such as "blocks.0.norm"."""
    return tuple(part for part in layer.split(".") if part)


def _recorded(node: onnx.NodeProto) -> Scope:
    for entry in node.metadata_props:
        if entry.key == LAYER:
            return split_layer(entry.value)
        if entry.key == SCOPES and len(entry.value) <= _LONGEST:
            return _of_torch(entry.value)
    return ()


def _of_torch(text: str) -> Scope:
    """From torch's list of names, such as ["", "blocks", "blocks.0", "linear"]."""
    try:
        names = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()
    if not isinstance(names, list) or len(names) < 2:
        return ()
    return split_layer(str(names[-2]).removeprefix(EXPORTED_STATE_PREFIX))


def _beginning(name: str, separator: str) -> Scope:
    return tuple(part for part in name.split(separator)[:-1] if part)

"""Gives a graph that was exported for a call the names of the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

from workbench.onnx_io.graph_metadata import LINE, UPDATES
from workbench.onnx_io.nodes import every_graph

if TYPE_CHECKING:
    import onnx


class SameNameError(Exception):
    """Two inputs, outputs or parameters would have one name, or one of them has none."""


def with_own_names(
    model: onnx.ModelProto, inputs: Sequence[str], outputs: Sequence[str], prefix: str
) -> onnx.ModelProto:
    """`model` with other names, without the lines that its nodes came from.

    Args:
        model: renamed in place.
        inputs: a name for each input.
        outputs: a name for each output.
        prefix: removed from names that begin with it: those of parameters and buffers, and of
            what is made of them. Intermediate values make way.

    Raises:
        SameNameError: it cannot be renamed; it is unchanged.
    """
    graphs = list(every_graph(model.graph))
    held = {name for graph in graphs for name in _defined(graph)}
    renamed = {name: name.removeprefix(prefix) for name in held if name.startswith(prefix)}
    for places, names in ((model.graph.input, inputs), (model.graph.output, outputs)):
        if len(places) != len(names):
            raise SameNameError
        renamed |= {value.name: name for value, name in zip(places, names, strict=True)}
    wanted = set(renamed.values())
    if len(wanted) < len(renamed):
        raise SameNameError
    for name in sorted(held - renamed.keys()):
        if name in wanted:  # an intermediate value
            renamed[name] = next(
                other
                for other in (f"{name}_{number}" for number in count(1))
                if other not in held | wanted
            )
    changed = {old: new for old, new in renamed.items() if old != new}
    for graph in graphs:
        _rename(graph, changed, prefix)
    return model


def _defined(graph: onnx.GraphProto) -> Iterator[str]:
    """Names of the values that are made in `graph`."""
    for value in (*graph.input, *graph.initializer):
        yield value.name
    for node in graph.node:
        yield from filter(None, node.output)


def _rename(graph: onnx.GraphProto, changed: dict[str, str], prefix: str) -> None:
    for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        value.name = changed.get(value.name, value.name)
    for node in graph.node:
        node.name = node.name.removeprefix(prefix)
        for names in (node.input, node.output):
            for place, name in enumerate(names):
                if name in changed:
                    names[place] = changed[name]
        kept = [entry for entry in node.metadata_props if entry.key != LINE]
        for entry in kept:
            if entry.key == UPDATES:
                entry.value = entry.value.removeprefix(prefix)
        if len(kept) < len(node.metadata_props):
            del node.metadata_props[:]
            node.metadata_props.extend(kept)

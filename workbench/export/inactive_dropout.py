"""Takes the Dropouts out of an exported graph."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from workbench.onnx_io.graph_metadata import STATISTICS
from workbench.onnx_io.nodes import every_node, values_read
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs

if TYPE_CHECKING:
    import onnx

REWRITE = "dropout left out"


def without_dropout(training: onnx.ModelProto) -> onnx.ModelProto | None:
    """A copy of a graph for training that computes the same without dropout, for evaluation.

    None: a Dropout is in a subgraph, or its mask is used.
    """
    import onnx
    from onnx import helper

    made = onnx.ModelProto()
    made.CopyFrom(training)
    graph = made.graph
    dropouts = [node for node in graph.node if node.op_type == "Dropout"]
    if len(dropouts) < sum(node.op_type == "Dropout" for node in every_node(graph.node)):
        return None
    results = {value.name for value in graph.output}
    lost = {name for node in dropouts for name in node.output if name} - results
    sources: dict[str, str] = {}
    settings: set[str] = set()
    nodes = []
    for node in graph.node:
        if node.op_type != "Dropout":
            for index, name in enumerate(node.input):
                node.input[index] = sources.get(name, name)
            nodes.append(node)
            continue
        settings.update(node.input[1:])
        source = sources.get(node.input[0], node.input[0])
        if node.output[0] in results:
            nodes.append(helper.make_node("Identity", [source], node.output[:1], node.name))
        else:
            sources[node.output[0]] = source
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)
    read = {name for node in graph.node for name in values_read(node)} | results
    if read & lost:
        return None
    _remove(graph.initializer, settings - read)
    _remove(graph.value_info, lost)
    for node in graph.node:
        others = [entry for entry in node.metadata_props if entry.key != STATISTICS]
        del node.metadata_props[:]
        node.metadata_props.extend(others)
    check_rewrite(made, REWRITE, output_specs(training))
    return made


def _remove(declared: Any, names: Collection[str]) -> None:
    """Remove the elements `names` of a field of a message."""
    for index in reversed(range(len(declared))):
        if declared[index].name in names:
            del declared[index]

"""Writes descriptions of graphs in the JSON format of Model Explorer.

Fields and their meaning: `graph_builder.py` of google-ai-edge/model-explorer (GraphCollection,
Graph, GraphNode, IncomingEdge, MetadataItem, KeyValue).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workbench.errors import ModelError
from workbench.files.output_file import replacing_file
from workbench.graph_view.description import GraphDescription, Node
from workbench.graph_view.graph_file import GraphFile


def write_model_explorer(files: Sequence[GraphFile], label: str, path: Path) -> Path:
    """Write a graph collection with one graph for each of `files`.

    Raises:
        ModelError: it cannot be written; an existing file is kept.
    """
    text = model_explorer_text(files, label)
    with replacing_file(path, ModelError) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def model_explorer_text(files: Iterable[GraphFile], label: str) -> str:
    """The collection as JSON."""
    return json.dumps(model_explorer_collection(files, label), ensure_ascii=False)


def model_explorer_collection(files: Iterable[GraphFile], label: str) -> dict[str, Any]:
    """The collection, in JSON types."""
    return {"label": label, "graphs": [_graph(file) for file in files]}


def _graph(file: GraphFile) -> dict[str, Any]:
    shown = file.description
    makers = {
        value: (index, place)
        for index, node in enumerate(shown.nodes)
        for place, value in enumerate(node.outputs)
        if value >= 0
    }
    nodes = [_node(file, index, node, makers) for index, node in enumerate(shown.nodes)]
    return {"id": shown.key, "nodes": nodes}


def _node(
    file: GraphFile, index: int, node: Node, makers: dict[int, tuple[int, int]]
) -> dict[str, Any]:
    shown = file.description
    attributes = [
        {"key": entry["name"], "value": entry["value"]}
        for entry in file.node_details(index)["attributes"]
    ]
    attributes.insert(0, {"key": "name", "value": node.name})
    if node.kind == "operator":
        attributes.append({"key": "made by", "value": node.made_by})
    if node.note:
        attributes.append({"key": "note", "value": node.note})
    edges = []
    for place, value in enumerate(node.inputs):
        if value in makers:
            source, output = makers[value]
            edges.append(
                {
                    "sourceNodeId": str(source),
                    "sourceNodeOutputId": str(output),
                    "targetNodeInputId": str(place),
                }
            )
    return {
        "id": str(index),
        "label": node.op if node.kind == "operator" else f"{node.op} {node.name}",
        "namespace": shown.groups[node.group].path,
        "subgraphIds": [],
        "attrs": attributes,
        "incomingEdges": edges,
        "outputsMetadata": _metadata(shown, node.outputs),
        "inputsMetadata": _metadata(shown, node.inputs),
    }


def _metadata(shown: GraphDescription, positions: Sequence[int]) -> list[dict[str, Any]]:
    found = []
    for place, position in enumerate(positions):
        if position < 0:
            continue
        value = shown.values[position]
        entries = [("__tensor_tag", value.name), ("tensor_shape", value.type_text)]
        attributes = [{"key": key, "value": text} for key, text in entries if text]
        found.append({"id": str(place), "attrs": attributes})
    return found

"""Nodes of an ONNX graph: their attributes and outputs, and the check of untrusted ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from workbench.errors import ModelError, nearest

if TYPE_CHECKING:
    import onnx

DEFAULT_DOMAINS = frozenset({"", "ai.onnx"})

KNOWN_DOMAINS = DEFAULT_DOMAINS | {"ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc"}
"""Domains with kernels in ONNX Runtime."""


def check_operators(model: onnx.ModelProto, opset: int, what: str) -> None:
    """Check that all operators are known.

    Args:
        model: the model to check.
        opset: version of its default domain.
        what: name of the model in messages.

    Raises:
        ModelError: names the node, its operator and domain.
    """
    import onnx

    functions = {(function.domain, function.name) for function in model.functions}
    bodies = [model.graph.node, *(function.node for function in model.functions)]
    for node in (node for body in bodies for node in every_node(body)):
        if (node.domain, node.op_type) in functions:
            continue
        if node.domain not in KNOWN_DOMAINS:
            raise ModelError(
                f"{what} has node {label(node)!r} with operator {node.op_type} of domain "
                f"{node.domain!r}, which ONNX Runtime does not support. Export the model without "
                "custom operators, or with a function body for each."
            )
        if node.domain in DEFAULT_DOMAINS and not onnx.defs.has(node.op_type, opset, ""):
            known = {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
            raise ModelError(
                f"{what} is not a valid ONNX model: node {label(node)!r} has operator "
                f"{node.op_type}, which is not in opset {opset}. "
                f"{nearest(node.op_type, known)}"
            )


def sort_nodes(graph: onnx.GraphProto, what: str) -> None:
    """Sort the nodes of `graph` topologically.

    Raises:
        ModelError: there is a cycle; names its nodes.
    """
    nodes = list(graph.node)
    makers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    needs = {
        index: [makers[name] for name in values_read(node) if name in makers]
        for index, node in enumerate(nodes)
    }
    if all(maker < index for index, read in needs.items() for maker in read):
        return
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        cycle = [nodes[index] for index in error.args[1]]
        path = " -> ".join(f"{node.op_type} ({label(node)})" for node in cycle)
        raise ModelError(
            f"{what} is not a valid ONNX model: its nodes form a cycle: {path}."
        ) from None
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies[index] for index in order)


def label(node: onnx.NodeProto) -> str:
    """Name of the node, or of its first output if it has none."""
    return str(node.name or next(iter(node.output), ""))


def attribute(node: onnx.NodeProto, name: str, default: Any) -> Any:
    """The value of an attribute of `node`, or `default` where it has none."""
    from onnx import helper

    for found in node.attribute:
        if found.name == name:
            return helper.get_attribute_value(found)
    return default


def output(node: onnx.NodeProto, index: int) -> str:
    """The name of an output of `node`; empty for an omitted optional one."""
    return node.output[index] if index < len(node.output) else ""


def every_node(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes and those of their subgraphs."""
    for node in nodes:
        yield node
        for graph in _subgraphs(node):
            yield from every_node(graph.node)


def every_graph(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and the subgraphs of its nodes."""
    yield graph
    for node in every_node(graph.node):
        yield from _subgraphs(node)


def _subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def values_read(node: onnx.NodeProto) -> Iterator[str]:
    """Names of the inputs of a node, with those that its subgraphs use from outside."""
    yield from node.input
    for graph in _subgraphs(node):
        own = {name for inner in graph.node for name in inner.output}
        own |= {value.name for value in (*graph.input, *graph.initializer)}
        for inner in graph.node:
            yield from (name for name in values_read(inner) if name not in own)

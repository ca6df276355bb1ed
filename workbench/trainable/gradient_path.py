"""Finds the nodes between trainable parameters and the loss."""

from __future__ import annotations

from collections.abc import Collection

import onnx_ir as ir

from workbench.onnx_io.graph_metadata import ARGUMENT_GRADIENT, DETACHED, FUNCTION, FUNCTION_CALL
from workbench.trainable.differentiable import CONSTANT_RESULT, STEPS

_SMOOTH = frozenset(
    {
        ir.DataType.FLOAT,
        ir.DataType.FLOAT16,
        ir.DataType.BFLOAT16,
        ir.DataType.DOUBLE,
    }
)


class GradientPath:
    """The part of a graph that a gradient passes through, on its way from the outputs.

    A value of unknown type counts as smooth, to be safe.
    """

    def __init__(self, graph: ir.Graph, requires_grad: Collection[str]) -> None:
        """Trace `graph`, whose nodes are in topological order, once."""
        varying = self._varying(graph, requires_grad)
        wanted: set[ir.Value | None] = {value for value in graph.outputs if value in varying}
        self._inputs_requiring_grad: dict[ir.Node, tuple[int, ...]] = {}
        calls: set[str] = set()
        for node in reversed(graph):
            call = node.metadata_props.get(FUNCTION_CALL)
            if call not in calls and not any(output in wanted for output in node.outputs):
                continue
            read = values_read(node)
            inputs_requiring_grad = tuple(
                index for index, value in enumerate(read) if value in varying
            )
            if not inputs_requiring_grad or _is_constant(node):
                continue
            self._inputs_requiring_grad[node] = inputs_requiring_grad
            if call is not None and FUNCTION in node.metadata_props:
                # The gradient reaches the arguments of a custom autograd function by its own path,
                # bypassing the nodes that compute the results.
                calls.add(call)
                continue
            wanted.update(value for value in read if value in varying)
        self._varying_values = varying
        self._wanted = wanted
        self._custom_backward = custom_backward_nodes(graph)

    @staticmethod
    def _varying(graph: ir.Graph, requires_grad: Collection[str]) -> set[ir.Value | None]:
        """The values that vary smoothly with a trainable parameter."""
        sources = [*graph.inputs, *graph.initializers.values()]
        varying: set[ir.Value | None] = {value for value in sources if value.name in requires_grad}
        calls = set()
        for node in graph:
            if _is_constant(node):
                continue
            call = node.metadata_props.get(FUNCTION_CALL)
            if FUNCTION in node.metadata_props and call in calls:
                # Its own backward returns a gradient, however the result is computed.
                varying.update(node.inputs)
            if any(value in varying for value in values_read(node)):
                calls.add(call)
                varying.update(output for output in node.outputs if _is_smooth(output))
        return varying

    def inputs_requiring_grad(self, node: ir.Node) -> tuple[int, ...]:
        """Indices of the inputs of `node` that need a gradient; empty off the path.

        Indices past its inputs refer to values that its subgraphs read, see `values_read`.
        """
        return self._inputs_requiring_grad.get(node, ())

    def stops_at(self, node: ir.Node) -> bool:
        """Whether no gradient passes `node` on its way to a trainable parameter."""
        stops = _is_detached(node) or (not node.domain and node.op_type in STEPS)
        return (
            stops and node not in self._custom_backward and node.inputs[0] in self._varying_values
        )

    def needs_gradient(self, value: ir.Value) -> bool:
        """Whether the gradient reaches `value`."""
        return value in self._wanted


def custom_backward_nodes(graph: ir.Graph) -> set[ir.Node]:
    """The nodes of the backward passes of custom autograd functions, which nothing else reads."""
    in_backward: set[ir.Node] = set()
    for node in reversed(graph):
        ends = ARGUMENT_GRADIENT in node.metadata_props
        users = {user for output in node.outputs for user in output.consumers()}
        left = any(output.is_graph_output() for output in node.outputs)
        if ends or (users and not left and users <= in_backward):
            in_backward.add(node)
    return in_backward


def is_detached_copy(node: ir.Node) -> bool:
    """Whether `node` only stops the gradient to a value that needs none."""
    return node.op_type == "Identity" and _is_detached(node)


def values_read(node: ir.Node) -> list[ir.Value | None]:
    """The inputs of `node`, then all that the nodes of its subgraphs read, from outside or not."""
    read = list(node.inputs)
    for attribute in node.attributes.values():
        graphs: tuple[ir.Graph, ...] = ()
        if attribute.type == ir.AttributeType.GRAPH:
            graphs = (attribute.as_graph(),)
        elif attribute.type == ir.AttributeType.GRAPHS:
            graphs = tuple(attribute.as_graphs())
        for graph in graphs:
            for inner in graph:
                read += values_read(inner)
            read.extend(iter(graph.outputs))
    return read


def _is_smooth(value: ir.Value) -> bool:
    return value.dtype is None or value.dtype in _SMOOTH


def _is_constant(node: ir.Node) -> bool:
    return (not node.domain and node.op_type in CONSTANT_RESULT) or _is_detached(node)


def _is_detached(node: ir.Node) -> bool:
    return DETACHED in node.metadata_props

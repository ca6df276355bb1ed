"""The gradient of a call of a custom autograd function whose backward is in the graph."""

from __future__ import annotations

from collections.abc import Iterable

import onnx
import onnx_ir as ir
from onnx import helper
from onnx_ir import serde

from workbench.errors import UntrainableError
from workbench.onnx_io.graph_metadata import (
    ARGUMENT,
    ARGUMENT_GRADIENT,
    BACKWARD,
    FUNCTION,
    FUNCTION_CALL,
    NONE,
    RESULT,
    RESULT_GRADIENT,
)
from workbench.trainable.custom_gradient import BackwardGraph, NodeGradient
from workbench.trainable.gradient_path import GradientPath, custom_backward_nodes

NOTE = "given its own backward, which is traced into the graph"


def function_gradients(graph: ir.Graph, path: GradientPath) -> list[NodeGradient]:
    """Gradients of every call that a gradient passes by a backward in the graph.

    The nodes of a call's results have one gradient. It reads the results as they were computed,
    then the arguments, then other values of the forward pass that its backward reads.
    """
    results: dict[str, list[ir.Node]] = {}
    for node in graph:
        if BACKWARD in node.metadata_props and path.inputs_requiring_grad(node):
            results.setdefault(node.metadata_props[FUNCTION_CALL], []).append(node)
    return [_gradient(graph, path, call, nodes) for call, nodes in results.items()]


def _gradient(
    graph: ir.Graph, path: GradientPath, call: str, results: list[ir.Node]
) -> NodeGradient:
    starts, ends = (_marked(graph, mark, call) for mark in (RESULT_GRADIENT, ARGUMENT_GRADIENT))
    if not ends:
        name = results[0].metadata_props[FUNCTION]
        raise UntrainableError(f"The backward of {name} was taken out of the graph.")
    arguments = {
        node.metadata_props[ARGUMENT]: node
        for node in graph
        if node.metadata_props.get(FUNCTION_CALL) == call and ARGUMENT in node.metadata_props
    }
    wanted = [place for place in ends if path.inputs_requiring_grad(arguments[place])]
    order = {node.metadata_props[RESULT]: index for index, node in enumerate(results)}
    unused = [node for place, node in starts.items() if place not in order]
    if unused and results[0].metadata_props[BACKWARD] == NONE:
        raise UntrainableError(
            f"The custom autograd function {results[0].metadata_props[FUNCTION]} sets "
            "set_materialize_grads(False), and some of its results lead to no loss, for which its "
            "backward expects None; the traced one was given tensors. Leave the setting out, use "
            "every result, or train the model with the engine ortmodule."
        )
    part = _Backward(graph, [_input(ends[place]) for place in wanted])
    inputs = [_input(node) for node in results]
    inputs += [arguments[place].outputs[0] for place in wanted]
    others = [*part.read, *map(_input, unused)]
    inputs += [value for value in dict.fromkeys(others) if value not in inputs]
    names = {str(value.name): f"I({index})" for index, value in reversed([*enumerate(inputs)])}
    made = BackwardGraph()
    for place, index in order.items():
        names[str(starts[place].outputs[0].name)] = f"GO({index})"
    for node in unused:
        names[str(node.outputs[0].name)] = _zeros(made, inputs.index(_input(node)), _input(node))
    for inner in part.nodes:
        made.append(_renamed(inner, names))
    found: dict[int, str] = {}
    first: dict[ir.Value, int] = {}
    for index, place in enumerate(wanted):
        value = str(_input(ends[place]).name)
        gradient = made.value(names.get(value, value))
        # Two arguments that are one tensor may become one value.
        source = first.setdefault(_input(arguments[place]), len(results) + index)
        found[source] = made.node("Add", found[source], gradient) if source in found else gradient
    *preceding, last = [str(node.name) for node in results]
    return made.finish(last, found)._replace(
        preceding=tuple(preceding), inputs=tuple(str(value.name) for value in inputs)
    )


def _zeros(made: BackwardGraph, index: int, value: ir.Value) -> str:
    """Zeros of the shape of input `index`, for any values: inf - inf would be NaN."""
    dtype = value.dtype or ir.DataType.FLOAT
    zero = helper.make_tensor("zero", int(dtype), [1], [0])
    return made.node("ConstantOfShape", made.node("Shape", made.input(index)), value=zero)


class _Backward:
    """The nodes that compute given values and that the forward pass does not need.

    Attributes:
        nodes: in the order of the graph.
        read: values of the forward pass that they, or the requested values, read.
    """

    def __init__(self, graph: ir.Graph, values: Iterable[ir.Value]) -> None:
        in_backward = custom_backward_nodes(graph)
        found: set[ir.Node] = set()
        self.read: dict[ir.Value, None] = {}
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            node = value.producer()
            if node is None or node not in in_backward:
                self.read[value] = None
            elif node not in found and RESULT_GRADIENT not in node.metadata_props:
                found.add(node)
                waiting += [each for each in node.inputs if each is not None]
        self.nodes = [node for node in graph if node in found]


def _marked(graph: ir.Graph, mark: str, call: str) -> dict[str, ir.Node]:
    """Nodes whose mark is "call.place", by the place."""
    found = {}
    for node in graph:
        number, _, place = node.metadata_props.get(mark, "").partition(".")
        if number == call and place:
            found[place] = node
    return found


def _renamed(node: ir.Node, names: dict[str, str]) -> onnx.NodeProto:
    made = serde.serialize_node(node)
    del made.metadata_props[:]
    given = [names.get(value, value) for value in made.input]
    del made.input[:]
    made.input.extend(given)
    return made


def _input(node: ir.Node) -> ir.Value:
    value = node.inputs[0]
    assert value is not None
    return value

"""Results of a module that depend on no input, parameter or buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.trainable.custom_gradient import NodeGradient

if TYPE_CHECKING:
    import onnx


def keep_constant_results(model: onnx.ModelProto) -> list[NodeGradient]:
    """Add a node to each constant output of `model` that is kept while the gradient is built.

    ONNX Runtime folds constants first, and then fails for an output that no node computes.

    Args:
        model: its parameters and buffers are inputs. Changed in place; its outputs keep their
            order, not their names.

    Returns:
        The gradients of these nodes, which stop at them.
    """
    from onnx import AttributeProto, helper

    graph, expected = model.graph, list(output_specs(model))
    varying = {value.name for value in graph.input}
    for node in graph.node:
        # Subgraphs may read anything.
        has_subgraph = any(each.type == AttributeProto.GRAPH for each in node.attribute)
        if has_subgraph or not varying.isdisjoint(node.input):
            varying.update(node.output)
    gradients = []
    for index, output in enumerate(graph.output):
        if output.name in varying:
            continue
        name = f"{output.name}.constant"
        graph.node.append(helper.make_node("Identity", [output.name], [name], name=name))
        output.name = name
        expected[index] = expected[index]._replace(name=name)
        gradients.append(NodeGradient(name, reads=(), nodes=(), results={}))
    if gradients:
        check_rewrite(model, "constant results kept", expected)
    return gradients

"""A copy of a graph with some of its outputs, and the nodes that these need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.onnx_io.graph_metadata import ARGUMENT_GRADIENT, BACKWARD, FUNCTION_CALL, UPDATES
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs

if TYPE_CHECKING:
    import onnx


def first_output_only(graph: onnx.ModelProto) -> onnx.ModelProto:
    """`outputs_only` for a single loss on the first output."""
    return outputs_only(graph, (0,))


def outputs_only(graph: onnx.ModelProto, kept: Sequence[int]) -> onnx.ModelProto:
    """A copy of `graph` with only some outputs and the nodes that they need.

    Buffer updates and the backward of custom autograd functions are kept as well.

    Args:
        kept: indices of the outputs, in their new order.
    """
    import onnx
    import onnx_ir.passes.common as passes
    from onnx_ir import serde

    copy = onnx.ModelProto()
    copy.CopyFrom(graph)
    del copy.graph.output[:]
    copy.graph.output.extend(graph.graph.output[index] for index in kept)
    model = serde.deserialize_model(copy)
    count = len(model.graph.outputs)
    updates = [node for node in model.graph if UPDATES in node.metadata_props]
    written = [model.graph.initializers[node.metadata_props[UPDATES]] for node in updates]
    ends = [node for node in model.graph if ARGUMENT_GRADIENT in node.metadata_props]
    model.graph.outputs.extend(node.outputs[0] for node in (*updates, *ends))
    passes.RemoveUnusedNodesPass()(model)
    del model.graph.outputs[count:]
    calls = {n.metadata_props[FUNCTION_CALL] for n in model.graph if BACKWARD in n.metadata_props}
    kept_ends = [n for n in ends if n.metadata_props[ARGUMENT_GRADIENT].split(".")[0] in calls]
    if len(kept_ends) < len(ends):
        model.graph.outputs.extend(node.outputs[0] for node in (*updates, *kept_ends))
        passes.RemoveUnusedNodesPass()(model)
        del model.graph.outputs[count:]
    for value in written:
        # A buffer that is only written has no consumers, so the pass removed it.
        model.graph.initializers[str(value.name)] = value
    pruned: onnx.ModelProto = serde.serialize_model(model)
    check_rewrite(pruned, "unread outputs left out", output_specs(copy))
    return pruned

"""Buffers that count a module's training steps, which the engine updates instead of a graph."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workbench.errors import UntrainableError
from workbench.onnx_io.graph_metadata import UPDATES
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.onnx_io.tensor_data import tensor_array

if TYPE_CHECKING:
    import onnx


def remove_step_counters(model: onnx.ModelProto) -> tuple[str, ...]:
    """Take the counters out of `model`, in place, and return their names.

    On-device training keeps float32 from step to step. A counter is an int64 buffer to which a
    forward pass adds 1, and which nothing else reads.

    Args:
        model: forward pass in training mode whose updates of buffers are marked.

    Raises:
        UntrainableError: the forward pass writes another buffer that is not float32.
    """
    from onnx import TensorProto

    graph, outputs = model.graph, output_specs(model)
    values = {tensor.name: tensor for tensor in graph.initializer}
    produced = {name: node for node in graph.node for name in node.output}
    reads = Counter(name for node in graph.node for name in node.input)
    reads.update(value.name for value in graph.output)

    def counts(buffer: str, update: onnx.NodeProto) -> bool:
        add = produced.get(update.input[0])
        if add is None or add.op_type != "Add" or buffer not in add.input:
            return False
        (other,) = [name for name in add.input if name != buffer] or [buffer]
        alone = reads[buffer] == 1 and reads[add.output[0]] == 1
        return alone and other in values and bool((tensor_array(values[other]) == 1).all())

    found = []
    for node in list(graph.node):
        buffer = next((entry.value for entry in node.metadata_props if entry.key == UPDATES), None)
        if buffer is None or values[buffer].data_type == TensorProto.FLOAT:
            continue
        if not counts(buffer, node):
            raise UntrainableError(
                f"The forward pass writes its buffer {buffer!r} of int64; on device only float32 "
                "is kept from step to step. Make it a float32 buffer, or train with "
                "engine='ortmodule'."
            )
        graph.node.remove(produced[node.input[0]])
        graph.node.remove(node)
        graph.initializer.remove(values[buffer])
        found.append(buffer)
    if found:
        check_rewrite(model, "counters taken out", outputs)
    return tuple(found)

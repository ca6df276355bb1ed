"""Statistics of the conversion of a model's graph to a training model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.ort.graph.node_statistics import (
    both_passes,
    draws,
    fusions,
    operator_counts,
    rewrites_of,
)

if TYPE_CHECKING:
    import onnx

    from workbench.artifacts.generation.trainable_graph import TrainableGraph


def graph_statistics(
    made: TrainableGraph, training_model: onnx.ModelProto, export_s: float, gradient_s: float
) -> dict[str, Any]:
    """The fields of `GraphStatistics` (`workbench.run_folder.statistics`) known before training.

    Args:
        made: the forward graph with its loss.
        training_model: the same with its gradient; its first outputs are the loss and the flags of
            the buffers that the forward pass updates.
        export_s: seconds to export the model, if it was exported, and to rewrite its graph.
        gradient_s: seconds to build the gradient.
    """
    trainable = made.trainable.graph
    results = [value.name for value in training_model.graph.output]
    forward = results[: 1 + len(made.rewrites.state_updates)]
    operators = operator_counts(training_model.graph)
    return {
        "inputs": _described(made.graph.graph),
        "export_s": export_s if made.forward.cache_s is None else None,
        "cache_s": made.forward.cache_s,
        "gradient_s": gradient_s,
        "exported_nodes": len(made.graph.graph.node),
        "trainable_nodes": len(trainable.node),
        "built": both_passes(training_model.graph, forward).model_dump(),
        "rewritten": [rewrite.model_dump() for rewrite in rewrites_of(made.rewrites)],
        "fusions": fusions(training_model.graph, {node.op_type for node in trainable.node}),
        "draws": draws(node.op_type for node in trainable.node),
        "operators": operators,
    }


def _described(graph: onnx.GraphProto) -> list[str]:
    from onnx.helper import tensor_dtype_to_np_dtype

    constants = {tensor.name for tensor in graph.initializer}
    found = []
    for value in graph.input:
        tensor = value.type.tensor_type
        if value.name not in constants:
            shape = ", ".join(axis.dim_param or str(axis.dim_value) for axis in tensor.shape.dim)
            found.append(f"{tensor_dtype_to_np_dtype(tensor.elem_type).name} [{shape}]")
    return found

"""Converts weights that are Constant nodes to initializers, so that they can be trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from workbench.onnx_io.graph import parameter_specs
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs

if TYPE_CHECKING:
    import onnx

WEIGHTS: Mapping[str, tuple[int, ...]] = {
    "BatchNormalization": (1, 2),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "GRU": (1, 2, 3),
    "Gather": (0,),
    "Gemm": (1, 2),
    "GroupNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "LSTM": (1, 2, 3),
    "LayerNormalization": (1, 2),
    "MatMul": (0, 1),
    "PRelu": (1,),
    "RNN": (1, 2, 3),
}
"""Inputs of operators that are weights if they are constant."""


def lift_constants(model: onnx.ModelProto) -> None:
    """Replace Constant nodes with weights by initializers, named like their outputs.

    Weights are floating-point constants of at least one axis that an operator uses as a weight, or,
    in a graph without any parameter among its initializers, all such constants.
    """
    from onnx import numpy_helper

    graph, outputs = model.graph, output_specs(model)
    everything = not parameter_specs(model)
    weights = set(_read_as_weights(graph))
    kept = []
    for node in graph.node:
        array = _value(node)
        if array is None or not (everything or node.output[0] in weights):
            kept.append(node)
        else:
            graph.initializer.append(numpy_helper.from_array(array, node.output[0]))
    if len(kept) < len(graph.node):
        copies = [type(node).FromString(node.SerializeToString()) for node in kept]
        del graph.node[:]
        graph.node.extend(copies)
        check_rewrite(model, "constants as weights", outputs)


def _read_as_weights(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        for index in WEIGHTS.get(node.op_type, ()):
            if index < len(node.input):
                yield node.input[index]


def _value(node: onnx.NodeProto) -> np.ndarray | None:
    """The value of a Constant node if it is float32 and has at least one axis, else None."""
    from onnx import numpy_helper

    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
        return None
    (attribute,) = node.attribute
    if attribute.name == "value":
        array = numpy_helper.to_array(attribute.t)
    elif attribute.name == "value_floats":
        array = np.array(attribute.floats, np.float32)
    else:
        return None
    return array if array.dtype == np.float32 and array.ndim > 0 else None

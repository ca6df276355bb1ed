"""Converts a graph from float32 to float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.onnx_io.rewrite_check import check_rewrite, output_specs

if TYPE_CHECKING:
    import onnx

_SCALES = {"Resize": 2, "Upsample": 1}
"""Index of the input that is float32 by definition of the operator."""


def in_double_precision(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of `model` with every float32 input, initializer, constant and cast in float64."""
    import onnx

    made = onnx.ModelProto()
    made.CopyFrom(model)
    _convert(made.graph)
    double = [
        each._replace(element_type=onnx.TensorProto.DOUBLE)
        if each.element_type == onnx.TensorProto.FLOAT
        else each
        for each in output_specs(model)
    ]
    check_rewrite(made, "double precision", double)
    return made


def _convert(graph: onnx.GraphProto) -> None:
    import onnx

    kept = {
        node.input[_SCALES[node.op_type]]
        for node in graph.node
        if node.op_type in _SCALES and len(node.input) > _SCALES[node.op_type]
    }
    for value in (*graph.input, *graph.output):
        tensor_type = value.type.tensor_type
        if tensor_type.elem_type == onnx.TensorProto.FLOAT:
            tensor_type.elem_type = onnx.TensorProto.DOUBLE
    del graph.value_info[:]
    for tensor in graph.initializer:
        if tensor.name not in kept:
            _convert_tensor(tensor)
    for node in graph.node:
        if node.op_type != "Constant" or node.output[0] not in kept:
            _convert_attributes(node)


def _convert_attributes(node: onnx.NodeProto) -> None:
    import onnx

    for attribute in node.attribute:
        if attribute.HasField("t"):
            _convert_tensor(attribute.t)
        elif attribute.HasField("g"):
            _convert(attribute.g)
        elif attribute.name in ("to", "dtype") and attribute.i == onnx.TensorProto.FLOAT:
            attribute.i = onnx.TensorProto.DOUBLE
        elif attribute.name in ("value_float", "value_floats"):
            values = attribute.floats or [attribute.f]
            shape = [len(values)] if attribute.name == "value_floats" else []
            tensor = onnx.helper.make_tensor("", onnx.TensorProto.DOUBLE, shape, values)
            attribute.CopyFrom(onnx.helper.make_attribute("value", tensor))


def _convert_tensor(tensor: onnx.TensorProto) -> None:
    import numpy as np
    import onnx
    from onnx import numpy_helper

    if tensor.data_type == onnx.TensorProto.FLOAT:
        array = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))

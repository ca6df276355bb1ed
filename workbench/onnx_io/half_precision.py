"""Converts ONNX graphs from float16 or bfloat16 to float32, so that they can be trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from workbench.modules.parameter_dtypes import notice
from workbench.onnx_io.external_data import every_tensor
from workbench.onnx_io.rewrite_check import OutputSpec, output_specs
from workbench.onnx_io.tensor_data import tensor_array

if TYPE_CHECKING:
    import onnx

TYPE_ATTRIBUTES = frozenset({"dtype", "output_dtype", "stash_type", "to"})
"""Attributes that set the type of an output."""


REWRITE = "half precision as float32"


def make_float32(model: onnx.ModelProto) -> tuple[tuple[str, ...], tuple[OutputSpec, ...]]:
    """Convert all half-precision values of `model` to float32 in place, inputs and outputs too.

    Returns:
        A message per converted dtype; and the outputs that the graph has now, for `check_rewrite`,
        which supposes a valid graph: that of a file is checked later.
    """
    import onnx

    halves: set[int] = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
    outputs = tuple(
        each._replace(element_type=onnx.TensorProto.FLOAT) if each.element_type in halves else each
        for each in output_specs(model)
    )
    names: dict[str, list[str]] = {}
    for tensor in every_tensor(model):
        if tensor.data_type in halves:
            dtype = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
            names.setdefault(dtype, []).append(tensor.name)
    if not names:
        return (), outputs
    for tensor in every_tensor(model):
        if tensor.data_type in halves:
            _widen(tensor)
    for value in (*model.graph.input, *model.graph.output):
        if value.type.tensor_type.elem_type in halves:
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    # Types of intermediate values are inferred again.
    del model.graph.value_info[:]
    _retype(model.graph.node, halves)
    return tuple(notice(dtype, held) for dtype, held in names.items()), outputs


def _widen(tensor: onnx.TensorProto) -> None:
    from onnx import numpy_helper

    array = np.asarray(tensor_array(tensor)).astype(np.float32)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _retype(nodes: Iterable[onnx.NodeProto], halves: set[int]) -> None:
    import onnx

    for node in nodes:
        for attribute in node.attribute:
            if attribute.name in TYPE_ATTRIBUTES and attribute.i in halves:
                attribute.i = onnx.TensorProto.FLOAT
            if attribute.HasField("g"):
                _retype_graph(attribute.g, halves)
            for graph in attribute.graphs:
                _retype_graph(graph, halves)


def _retype_graph(graph: onnx.GraphProto, halves: set[int]) -> None:
    import onnx

    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type in halves:
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    del graph.value_info[:]
    _retype(graph.node, halves)

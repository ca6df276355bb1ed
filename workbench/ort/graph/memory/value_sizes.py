"""Bytes of every value of a graph that ONNX Runtime has optimized, at one batch size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from workbench.ort.graph.identifiers import GRADIENT, INT64

if TYPE_CHECKING:
    import onnx

SHAPED_LIKE: Mapping[str, tuple[int, ...]] = {
    "BatchNormInternal": (0, 1, 1, 1, 1),
    "BatchNormalizationGrad": (1, 2, 2),
    "ConvGrad": (1, 2),
    "DropoutGrad": (0,),
    "LayerNormalizationGrad": (1, 2, 2),
    "ReorderInput": (0,),
    "ReorderOutput": (0,),
}
"""Operators whose shapes onnx does not infer: each output has the shape of that input."""

ROW_BY_ROW: Mapping[str, tuple[int, ...]] = {
    "Attention": (1, 2),
    "CrossEntropy": (1, 2),
    "LogProbability": (1, 2),
}
"""Operators of the workbench: outputs with a number for each row of the first input."""

BY_FILTER: Mapping[str, int] = {"ConvolutionGradient": 2, "ConvolutionWeightGradient": 1}
"""Operators of the workbench: the output with a number for each filter of the third input."""

_LONGEST_CHAIN = 100
"""Largest number of rounds of inference, each of which may complete inputs of the next."""

_Known = dict[str, tuple[int, tuple[int, ...]]]
"""Element type and shape by name."""


def value_sizes(
    model: onnx.ModelProto, batch_size: int, portable: onnx.ModelProto | None = None
) -> dict[str, int]:
    """Bytes by name; without values whose shape cannot be determined.

    Args:
        model: of the training build, optimized; it is not changed.
        batch_size: the size of every axis that has a name in the inputs.
        portable: the same graph without the workbench's own kernels, whose values have the shapes
            that they have here.
    """
    from onnx.helper import tensor_dtype_to_np_dtype

    sized = _at_batch_size(model, batch_size)
    if portable is not None:
        shapes = _shapes(_at_batch_size(portable, batch_size))
        known = _known(sized.graph)
        made = [name for node in sized.graph.node for name in node.output if name not in known]
        _declare(sized.graph, {name: shapes[name] for name in made if name in shapes})
    return {
        name: math.prod(shape) * int(tensor_dtype_to_np_dtype(kind).itemsize)
        for name, (kind, shape) in _shapes(sized).items()
        if kind
    }


def named_axes(graph: onnx.GraphProto) -> set[str]:
    """Names of the axes of the inputs."""
    dims = (axis for value in graph.input for axis in value.type.tensor_type.shape.dim)
    return {axis.dim_param for axis in dims if axis.dim_param}


def _at_batch_size(model: onnx.ModelProto, batch_size: int) -> onnx.ModelProto:
    """A copy in which named axes have their size, without partially known shapes."""
    import onnx

    made = onnx.ModelProto()
    made.CopyFrom(model)
    named = named_axes(made.graph)
    for value in (*made.graph.value_info, *made.graph.input, *made.graph.output):
        tensor = value.type.tensor_type
        for axis in tensor.shape.dim:
            if axis.dim_param in named:
                axis.dim_value = batch_size
        if not all(axis.HasField("dim_value") for axis in tensor.shape.dim):
            tensor.ClearField("shape")
    return made


def _shapes(model: onnx.ModelProto) -> _Known:
    import onnx

    for _ in range(_LONGEST_CHAIN):
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        known = _known(inferred)
        added = dict(_added(inferred, known))
        if not added:
            break
        _declare(model.graph, added)
    return known


def _known(graph: onnx.GraphProto) -> _Known:
    known: _Known = {t.name: (t.data_type, tuple(t.dims)) for t in graph.initializer}
    for value in (*graph.value_info, *graph.input, *graph.output):
        tensor = value.type.tensor_type
        sizes = [axis.dim_value for axis in tensor.shape.dim if axis.HasField("dim_value")]
        if tensor.HasField("shape") and len(sizes) == len(tensor.shape.dim):
            known[value.name] = (tensor.elem_type, tuple(sizes))
    return known


def _added(
    graph: onnx.GraphProto, known: _Known
) -> Iterator[tuple[str, tuple[int, tuple[int, ...]]]]:
    """Types and shapes of values that the package onnx cannot infer."""
    for node in graph.node:
        like = SHAPED_LIKE.get(node.op_type, ())
        for index, name in enumerate(node.output):
            if not name or name in known:
                continue
            if node.op_type == "NonZero" and node.input[0] in known:
                sizes = known[node.input[0]][1]
                yield name, (INT64, (len(sizes), math.prod(sizes)))  # an upper bound
                continue
            if node.op_type == "ConcatTraining" and all(each in known for each in node.input):
                kind, sizes = _joined(node, [known[each] for each in node.input])
                yield name, (INT64, (len(node.input),)) if index else (kind, sizes)
                continue
            if index in ROW_BY_ROW.get(node.op_type, ()) and node.input[0] in known:
                kind, sizes = known[node.input[0]]
                yield name, (kind, sizes[:-1])
                continue
            if BY_FILTER.get(node.op_type) == index and node.input[2] in known:
                kind, sizes = known[node.input[2]]
                yield name, (kind, sizes[:1])
                continue
            source = node.input[like[index]] if index < len(like) else name.removesuffix(GRADIENT)
            if source in known:
                yield name, known[source]
            elif node.op_type == "FusedMatMul" and all(each in known for each in node.input[:2]):
                kind, left = known[node.input[0]]
                yield name, (kind, _product(node, left, known[node.input[1]][1]))
            elif node.op_type == "MaxPool" and not index and node.input[0] in known:
                yield name, known[node.input[0]]  # in blocks of channels: an upper bound


def _joined(
    node: onnx.NodeProto, parts: list[tuple[int, tuple[int, ...]]]
) -> tuple[int, tuple[int, ...]]:
    """The type and shape of a concatenation."""
    from onnx.helper import get_node_attr_value

    kind, first = parts[0]
    axis = get_node_attr_value(node, "axis") % len(first)
    joined = sum(shape[axis] for _, shape in parts)
    return kind, (*first[:axis], joined, *first[axis + 1 :])


def _product(
    node: onnx.NodeProto, left: tuple[int, ...], right: tuple[int, ...]
) -> tuple[int, ...]:
    """The shape of a FusedMatMul; its two factors may be transposed."""
    from onnx.helper import get_attribute_value

    set_ = {attribute.name for attribute in node.attribute if get_attribute_value(attribute)}

    def matrix(shape: tuple[int, ...], side: str) -> tuple[int, ...]:
        if f"transBatch{side}" in set_ and len(shape) > 2:
            shape = (*shape[1:-1], shape[0], shape[-1])
        return (*shape[:-2], shape[-1], shape[-2]) if f"trans{side}" in set_ else shape

    left, right = matrix(left, "A"), matrix(right, "B")
    batch = left[:-2] if len(left) >= len(right) else right[:-2]
    return (*batch, left[-2], right[-1])


def _declare(graph: onnx.GraphProto, added: _Known) -> None:
    from onnx.helper import make_tensor_value_info

    kept = [value for value in graph.value_info if value.name not in added]
    del graph.value_info[:]
    graph.value_info.extend(kept)
    outputs = {value.name: value for value in graph.output}
    for name, (kind, shape) in added.items():
        declared = make_tensor_value_info(name, kind, shape)
        if name in outputs:
            outputs[name].CopyFrom(declared)
        else:
            graph.value_info.append(declared)

"""What an ONNX graph tells of its inputs, outputs and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import ModelError
from workbench.onnx_io.tensor_data import tensor_array
from workbench.specs import ParameterSpec, TensorSpec

if TYPE_CHECKING:
    import onnx

SETTINGS: Mapping[str, tuple[int, ...]] = {
    "BatchNormalization": (3, 4),
    "Clip": (1, 2),
    "DequantizeLinear": (1,),
    "Dropout": (1,),
    "OneHot": (2,),
    "Pad": (2,),
    "Pow": (1,),
    "QuantizeLinear": (1,),
    "Range": (0, 1, 2),
    "Resize": (1, 2),
    "Upsample": (1,),
}
"""Inputs of operators that hold settings or statistics, never what is trained."""

MASK_MAGNITUDE = 1e4
"""A table with numbers this large is a mask added before a softmax, not a trained weight."""


def batch_axis_name(model: onnx.ModelProto) -> str | None:
    """What the graph calls the first axis of its first input; None if unnamed or fixed."""
    for value in graph_inputs(model):
        dims = value.type.tensor_type.shape.dim
        return str(dims[0].dim_param) or None if dims else None
    return None


def graph_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs that are fed: before IR version 4, initializers are listed as inputs as well."""
    initializers = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in initializers]


def tensor_specs(
    values: Iterable[onnx.ValueInfoProto], batch_name: str | None
) -> tuple[TensorSpec, ...]:
    """Specs of graph inputs or outputs.

    Raises:
        ModelError: one is no tensor, or of a dtype that numpy lacks.
    """
    return tuple(
        TensorSpec(value.name, value_shape(value, batch_name), _dtype(value)) for value in values
    )


def value_shape(value: onnx.ValueInfoProto, batch_name: str | None) -> tuple[int | str, ...]:
    """Sizes of a value: "batch" for the batch axis, a name of its own for one without any."""
    sizes: list[int | str] = []
    for axis, dim in enumerate(value.type.tensor_type.shape.dim):
        # Shape inference calls what it cannot tell unk__0, unk__1 and so on.
        nameless = not dim.dim_param or dim.dim_param.startswith("unk__")
        if dim.HasField("dim_value"):
            sizes.append(dim.dim_value)
        elif (nameless and axis == 0) or (batch_name and dim.dim_param == batch_name):
            sizes.append("batch")
        else:
            sizes.append(f"{value.name}_{axis}" if nameless else dim.dim_param)
    return tuple(sizes)


def parameter_specs(model: onnx.ModelProto) -> dict[str, ParameterSpec]:
    """The initializers that can be parameters, in the order of the graph.

    A parameter is a floating initializer of at least one axis that some node reads as an operand:
    not a setting such as the bounds of Clip, not statistics of BatchNormalization, not a mask.
    ONNX does not tell a parameter from any other table of constants, so such a table is listed too
    and must be frozen by name. Only float32 ones are trainable.
    """
    import onnx

    operands = set(_operands(model.graph))
    specs = {}
    for tensor in model.graph.initializer:
        if tensor.name not in operands or not tensor.dims or not _is_floating(tensor):
            continue
        if tensor.data_type == onnx.TensorProto.FLOAT:
            values = tensor_array(tensor)
            # Not of absolute values, which would take as much memory again.
            if (
                values.size == 0
                or not -MASK_MAGNITUDE < values.min() <= values.max() < MASK_MAGNITUDE
            ):
                continue
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if tensor.data_type == onnx.TensorProto.BFLOAT16:
            dtype = np.dtype("float16")  # of the same size; numpy has no bfloat16
        trainable = tensor.data_type == onnx.TensorProto.FLOAT
        specs[tensor.name] = ParameterSpec(tuple(tensor.dims), dtype.name, trainable)
    return specs


def unfit_weights(model: onnx.ModelProto) -> dict[str, str]:
    """What looks like a weight and cannot train, with what it is; half precision is float32 by now.

    Masks are none of these: they are finite or minus infinity.
    """
    import onnx

    operands = set(_operands(model.graph))
    found = {}
    for tensor in model.graph.initializer:
        if tensor.name not in operands or not tensor.dims:
            continue
        if tensor.data_type == onnx.TensorProto.DOUBLE:
            found[tensor.name] = "is double (float64), and only float32 trains"
        elif tensor.data_type == onnx.TensorProto.FLOAT and np.isnan(tensor_array(tensor)).any():
            found[tensor.name] = "holds NaN"
    return found


def unfit_sentence(found: Mapping[str, str]) -> str:
    """Those weights in a sentence, the first three by name."""
    shown = "; ".join(f"{name!r} {what}" for name, what in list(found.items())[:3])
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    return f"{shown}{more}."


def statistics(model: onnx.ModelProto) -> set[str]:
    """Names of the running statistics of BatchNormalization: what a module calls buffers."""
    return {
        name
        for node in model.graph.node
        if node.op_type == "BatchNormalization"
        for name in node.input[3:5]
    }


def _operands(graph: onnx.GraphProto) -> Iterator[str]:
    """Every name that a node of the graph or a subgraph reads as an operand."""
    for node in graph.node:
        settings = SETTINGS.get(node.op_type, ())
        yield from (name for index, name in enumerate(node.input) if index not in settings)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _operands(attribute.g)
            for inner in attribute.graphs:
                yield from _operands(inner)


def _is_floating(tensor: onnx.TensorProto) -> bool:
    import onnx

    kinds = onnx.TensorProto
    return tensor.data_type in (kinds.FLOAT, kinds.FLOAT16, kinds.DOUBLE, kinds.BFLOAT16)


def _dtype(value: onnx.ValueInfoProto) -> str:
    import onnx

    if not value.type.HasField("tensor_type"):
        kind = value.type.WhichOneof("value") or "nothing"
        raise ModelError(f"{value.name!r} of the graph is a {kind}; only tensors can be fed.")
    elem_type = value.type.tensor_type.elem_type
    name = onnx.TensorProto.DataType.Name(elem_type)
    if name not in ("FLOAT", "DOUBLE", "FLOAT16", "BOOL") and "INT" not in name:
        raise ModelError(f"{value.name!r} of the graph is of type {name}, which cannot be fed.")
    return str(onnx.helper.tensor_dtype_to_np_dtype(elem_type).name)

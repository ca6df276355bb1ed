"""Inputs, outputs and parameters of an ONNX graph."""

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
"""Inputs of operators that are settings or statistics, not parameters."""

MASK_MAGNITUDE = 1e4
"""A tensor with values this large is an attention mask, not a parameter."""

UNKNOWN = "unk__"
"""Shape inference names the sizes that it does not know unk__0, unk__1 etc."""


def batch_axis_name(model: onnx.ModelProto) -> str | None:
    """Name of the first axis of the first input; None if it is unnamed or static."""
    for value in graph_inputs(model):
        dims = value.type.tensor_type.shape.dim
        return str(dims[0].dim_param) or None if dims else None
    return None


def fixed_batch_size(model: onnx.ModelProto) -> int | None:
    """Size of the first axis of the first input where it is static."""
    for value in graph_inputs(model):
        dims = value.type.tensor_type.shape.dim
        return int(dims[0].dim_value) if dims and dims[0].dim_value else None
    return None


def graph_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs without initializers, which are listed as inputs before IR version 4."""
    initializers = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in initializers]


def tensor_specs(
    values: Iterable[onnx.ValueInfoProto], batch_name: str | None
) -> tuple[TensorSpec, ...]:
    """Specs of graph inputs or outputs.

    Raises:
        ModelError: one is not a tensor, or has a dtype that numpy lacks.
    """
    return tuple(
        TensorSpec(value.name, value_shape(value, batch_name), _dtype(value)) for value in values
    )


def value_shape(value: onnx.ValueInfoProto, batch_name: str | None) -> tuple[int | str, ...]:
    """Shape of a value: "batch" for the batch axis, a unique name for unnamed dynamic axes."""
    sizes: list[int | str] = []
    for axis, dim in enumerate(value.type.tensor_type.shape.dim):
        nameless = not dim.dim_param or dim.dim_param.startswith(UNKNOWN)
        if dim.HasField("dim_value"):
            sizes.append(dim.dim_value)
        elif (nameless and axis == 0) or (batch_name and dim.dim_param == batch_name):
            sizes.append("batch")
        else:
            sizes.append(f"{value.name}_{axis}" if nameless else dim.dim_param)
    return tuple(sizes)


def unname_sizes(model: onnx.ModelProto) -> None:
    """Remove the names of unknown sizes from the shapes of values, in place.

    Where ONNX Runtime builds the gradient of a node that broadcasts, it takes sizes of two names
    for equal: it would not sum that of `x[:, :1]` in `x + x[:, :1]`, a size that inference does not
    know. Those without a name it compares when the graph runs.
    """
    for value in (*model.graph.value_info, *model.graph.output):
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param.startswith(UNKNOWN):
                size.Clear()


def parameter_specs(model: onnx.ModelProto) -> dict[str, ParameterSpec]:
    """The initializers that can be parameters, in the order of the graph.

    A parameter is a floating-point initializer of at least one axis that a node uses as an operand,
    not as a setting such as the bounds of Clip, nor as statistics of BatchNormalization, nor as a
    mask. ONNX does not distinguish parameters from other constants, so constant tables are included
    and must be frozen by name. Only float32 parameters are trainable.
    """
    import onnx

    operands = set(_operands(model.graph))
    specs = {}
    for tensor in model.graph.initializer:
        if tensor.name not in operands or not tensor.dims or not _is_floating(tensor):
            continue
        if tensor.data_type == onnx.TensorProto.FLOAT:
            values = tensor_array(tensor)
            # Without np.abs, which would double the memory.
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
    """Weights that cannot be trained, with the reason.

    Half precision was converted to float32 before. Masks are not included: they are finite or
    minus infinity.
    """
    import onnx

    operands = set(_operands(model.graph))
    found = {}
    for tensor in model.graph.initializer:
        if tensor.name not in operands or not tensor.dims:
            continue
        if tensor.data_type == onnx.TensorProto.DOUBLE:
            found[tensor.name] = "is float64, and only float32 can be trained"
        elif tensor.data_type == onnx.TensorProto.FLOAT and np.isnan(tensor_array(tensor)).any():
            found[tensor.name] = "contains NaN"
    return found


def unfit_sentence(found: Mapping[str, str]) -> str:
    """The result of `unfit_weights` as a sentence, with at most three names."""
    shown = "; ".join(f"{name!r} {what}" for name, what in list(found.items())[:3])
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    return f"{shown}{more}."


def statistics(model: onnx.ModelProto) -> set[str]:
    """Names of the running statistics of BatchNormalization, which are buffers of a module."""
    return {
        name
        for node in model.graph.node
        if node.op_type == "BatchNormalization"
        for name in node.input[3:5]
    }


def _operands(graph: onnx.GraphProto) -> Iterator[str]:
    """All names that nodes of the graph or its subgraphs use as operands."""
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
        raise ModelError(f"{value.name!r} of the graph is a {kind}; only tensors are supported.")
    elem_type = value.type.tensor_type.elem_type
    name = onnx.TensorProto.DataType.Name(elem_type)
    if name not in ("FLOAT", "DOUBLE", "FLOAT16", "BOOL") and "INT" not in name:
        raise ModelError(f"{value.name!r} of the graph has the unsupported type {name}.")
    return str(onnx.helper.tensor_dtype_to_np_dtype(elem_type).name)

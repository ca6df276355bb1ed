"""Bytes of the values that a graph keeps from the forward to the backward pass."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.ort.graph.node_statistics import YIELD, forward_nodes

if TYPE_CHECKING:
    import onnx

VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Identity", "Flatten"})
"""Operators whose result shares the memory of their first input."""

SHAPE_READERS = frozenset({"Shape", "Size", YIELD})
"""Operators for which no value is kept: ONNX Runtime runs them as early as possible."""


class Held(NamedTuple):
    """Values of a graph, and the bytes that they take together."""

    values: int
    total_bytes: int
    unknown: int
    """Number of values whose size is not known before the graph runs; not included in the bytes."""


def kept_between_passes(
    graph: onnx.GraphProto, state: Collection[str], axes: Mapping[str, int]
) -> Held:
    """Values of the forward pass that the backward pass reads.

    Args:
        graph: of both passes, its nodes in order, the shapes of its values inferred.
        state: parameters and buffers, which exist anyway.
        axes: size of each axis that has a name.
    """
    forward = forward_nodes(graph)
    made = {value.name for value in graph.input}
    lies_on: dict[str, str] = {}
    read = set()
    for index, node in enumerate(graph.node):
        if index in forward:
            made.update(name for name in node.output if name)
            if node.op_type in VIEWS:
                lies_on[node.output[0]] = lies_on.get(node.input[0], node.input[0])
        elif node.op_type not in SHAPE_READERS:
            read.update(node.input)
    kept = {lies_on.get(name, name) for name in read & made} - set(state)
    return _held(_declared(graph), kept, axes)


def results_of(graph: onnx.GraphProto, axes: Mapping[str, int]) -> Held:
    """Outputs of the forward pass."""
    names = [name for node in graph.node if node.op_type == YIELD for name in node.input]
    return _held(_declared(graph), names, axes)


def axis_sizes(
    graph: onnx.GraphProto, names: Sequence[str], shapes: Sequence[Sequence[int]]
) -> dict[str, int]:
    """The size of each named axis, if the inputs `names` have these shapes."""
    declared = {value.name: value.type.tensor_type.shape.dim for value in graph.input}
    return {
        axis.dim_param: size
        for name, shape in zip(names, shapes, strict=True)
        if name in declared
        for axis, size in zip(declared[name], shape, strict=True)
        if axis.dim_param
    }


def described_inputs(
    graph: onnx.GraphProto, names: Sequence[str], axes: Mapping[str, int]
) -> tuple[str, ...]:
    """Dtype and shape of each of these inputs, such as "float32 [batch=32, 64]"."""
    from onnx.helper import tensor_dtype_to_np_dtype

    found = []
    declared = {value.name: value.type.tensor_type for value in graph.input}
    for tensor in (declared[name] for name in names if name in declared):
        shape = [
            f"{axis.dim_param}={axes[axis.dim_param]}"
            if axis.dim_param in axes
            else axis.dim_param or str(axis.dim_value)
            for axis in tensor.shape.dim
        ]
        dtype = tensor_dtype_to_np_dtype(tensor.elem_type).name
        found.append(f"{dtype} [{', '.join(shape)}]")
    return tuple(found)


def _declared(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto.Tensor]:
    values = (*graph.value_info, *graph.input, *graph.output)
    return {value.name: value.type.tensor_type for value in values}


def _held(
    declared: Mapping[str, onnx.TypeProto.Tensor], names: Iterable[str], axes: Mapping[str, int]
) -> Held:
    sizes = [_bytes_of(declared[name], axes) if name in declared else None for name in set(names)]
    known = [size for size in sizes if size is not None]
    return Held(len(sizes), sum(known), len(sizes) - len(known))


def _bytes_of(tensor: onnx.TypeProto.Tensor, axes: Mapping[str, int]) -> int | None:
    from onnx.helper import tensor_dtype_to_np_dtype

    if not tensor.HasField("shape"):
        return None
    sizes = [
        axis.dim_value if axis.HasField("dim_value") else evaluated(axis.dim_param, axes)
        for axis in tensor.shape.dim
    ]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    return math.prod(known) * int(tensor_dtype_to_np_dtype(tensor.elem_type).itemsize)


def evaluated(expression: str, axes: Mapping[str, int]) -> int | None:
    """The size of an axis named `expression`, such as "32*batch"; None where it is not known."""
    try:
        return _value(ast.parse(expression, mode="eval").body, axes)
    except (SyntaxError, KeyError, ZeroDivisionError):
        return None


def _value(node: ast.expr, axes: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return axes[node.id]
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, axes), _value(node.right, axes)
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.FloorDiv):
            return left // right
    raise KeyError(ast.unparse(node))

"""Matrix products by groups of rows, as in mixtures of experts, and the counts they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from workbench.errors import ModelError
from workbench.export.translations.nodes import Value, number, op
from workbench.onnx_io.graph_metadata import FOUND_ROWS


def grouped_translations() -> dict[Any, Callable[..., Any]]:
    """Their part of the `custom_translation_table` of torch.onnx.export."""
    import torch

    found: dict[Any, Callable[..., Any]] = {
        torch.ops.aten._grouped_mm.default: _grouped_mm,
        torch.ops.aten.histc.default: _histc,
    }
    # transformers calls its own while a module is exported; it exists once the library is imported.
    if hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        found[torch.ops.transformers.grouped_mm_fallback.default] = _grouped_mm
    return found


def _grouped_mm(
    self: Value,
    mat2: Value,
    offs: Value | None = None,
    bias: Value | None = None,
    out_dtype: int | None = None,
) -> Value:
    """`torch.nn.functional.grouped_mm`, each group's product over its own rows alone.

    Rows after the last group, undefined in PyTorch's result, belong to that group.

    Args:
        self: (rows, inward), or (groups, rows, inward).
        mat2: (groups, inward, outward), or (inward, columns).
        offs: (groups), int32 or int64: where each group of rows or columns ends.
        bias: not supported, as in PyTorch.
        out_dtype: that of the factors.
    """
    if bias is not None or out_dtype is not None:
        raise ModelError("grouped_mm with a bias or an out_dtype has no translation to ONNX.")
    ranks = len(self.shape), len(mat2.shape)
    if ranks == (3, 3):
        return op.MatMul(self, mat2)
    if ranks == (2, 3):
        return _rows_in_groups(self, mat2, offs)
    if ranks == (3, 2):
        columns, weight = op.Transpose(mat2, perm=[1, 0]), op.Transpose(self, perm=[0, 2, 1])
        weight.shape = ir.Shape([self.shape[0], self.shape[2], self.shape[1]])
        return op.Transpose(_rows_in_groups(columns, weight, offs), perm=[1, 0])
    raise ModelError(
        "grouped_mm of two matrices, which is how a gradient is computed, has no translation to "
        "ONNX."
    )


def _rows_in_groups(rows: Value, weight: Value, offs: Value) -> Value:
    groups = weight.shape[0]
    ends = op.Cast(offs, to=ir.DataType.INT64)
    inner = op.Slice(ends, [0], [groups - 1])
    starts = op.Concat(op.Constant(value_ints=[0]), inner, axis=0)
    stops = op.Concat(inner, op.Shape(rows, start=0, end=1), axis=0)
    parts = _parts(op.Split(rows, op.Sub(stops, starts), axis=0, num_outputs=groups))
    # The exporter counts the parts by this attribute, which their sizes exclude.
    del parts[0].producer().attributes["num_outputs"]
    transposed, weight = _stored(weight)
    weights = _parts(op.Split(weight, axis=0, num_outputs=groups))
    products = []
    for part, each in zip(parts, weights, strict=True):
        product = op.Gemm(part, op.Squeeze(each, [0]), transB=transposed)
        product.producer().metadata_props[FOUND_ROWS] = "1"
        products.append(product)
    return op.Concat(*products, axis=0)


def _parts(made: Any) -> list[Value]:
    return list(made) if isinstance(made, tuple | list) else [made]


def _stored(weight: Value) -> tuple[int, Value]:
    """The weight before its matrices were transposed, and whether they were."""
    node = weight.producer()
    if node is None or node.op_type != "Transpose":
        return 0, weight
    swapped = list(node.attributes["perm"].as_ints()) == [0, 2, 1]
    return (1, node.inputs[0]) if swapped else (0, weight)


def _histc(self: Value, bins: int = 100, min: float = 0, max: float = 0) -> Value:  # noqa: A002
    """Number of elements in each of `bins` equal parts of the interval between two numbers."""
    flat = op.Reshape(self, [-1])
    if min == max:
        low, high = op.ReduceMin(flat, keepdims=0), op.ReduceMax(flat, keepdims=0)
        alike = op.Equal(low, high)
        low = op.Where(alike, op.Sub(low, number(1.0, self)), low)
        high = op.Where(alike, op.Add(high, number(1.0, self)), high)
    else:
        low, high = number(min, self), number(max, self)
    inside = op.And(op.GreaterOrEqual(flat, low), op.LessOrEqual(flat, high))
    scaled = op.Mul(op.Sub(flat, low), op.Div(number(bins, self), op.Sub(high, low)))
    # The last part has its upper end.
    place = op.Min(op.Floor(scaled), number(bins - 1, self))
    numbers = op.Constant(value=ir.tensor(np.arange(bins, dtype=self.dtype.numpy())))
    equal = op.Equal(op.Unsqueeze(place, [1]), op.Unsqueeze(numbers, [0]))
    counted = op.And(equal, op.Unsqueeze(inside, [1]))
    return op.ReduceSum(op.Cast(counted, to=self.dtype), [0], keepdims=0)

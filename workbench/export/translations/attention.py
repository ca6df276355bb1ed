"""scaled_dot_product_attention in plain operators, of any rank, including rows with all keys
masked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import onnx_ir as ir

from workbench.export.translations.nodes import Value, number, op


def attention_translations() -> dict[Any, Callable[..., Any]]:
    """The part of `translations` that is about attention."""
    import torch

    return {torch.ops.aten.scaled_dot_product_attention.default: _attention}


def _attention(
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """Softmax of the scaled scores along the keys, times the values.

    A row whose keys are all masked has zeros, as PyTorch's does, and no gradient. What torch's
    exporter writes results in the mean of all values, or NaN.

    Args:
        query: (..., length, width), float.
        key: (..., keys, width).
        value: (..., keys, value width).
        attn_mask: broadcast to (..., length, keys); true where a key counts, or added.
        dropout_p: dropout probability of the weights.
        is_causal: no query looks at a key after it; without attn_mask.
        scale: factor of the scores; 1 / sqrt(width) by default.
        enable_gqa: axis -3 of query is a multiple of that of key and value.
    """
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    swapped = list(range(len(key.shape)))
    swapped[-2:] = swapped[:-3:-1]
    if enable_gqa:
        key, value = (_each_head(each, query.shape[-3]) for each in (key, value))
    scaled = op.Mul(query, number(scale, query))
    scores = op.MatMul(scaled, op.Transpose(key, perm=swapped))
    zero, least = number(0.0, query), number(query.dtype.min, query)
    if is_causal:
        # Every query sees the first key: no row is empty.
        added = op.Where(_up_to_each(query, key), zero, least)
        weights = op.Softmax(op.Add(scores, added), axis=-1)
    elif attn_mask is None:
        weights = op.Softmax(scores, axis=-1)
    else:
        if attn_mask.dtype == ir.DataType.BOOL:
            seen, added = attn_mask, op.Where(attn_mask, zero, least)
        else:
            # A large negative number is seen: a row of these alone is the mean of their values.
            seen = op.GreaterOrEqual(attn_mask, least)
            # Minus infinity less minus infinity is not a number, which no gradient passes, so it
            # is the lowest finite number. Either masks a score of usual size entirely.
            half = number(query.dtype.min / 2, query)
            raised = op.Add(attn_mask, op.Where(op.Less(attn_mask, half), op.Neg(half), zero))
            added = op.Where(seen, raised, least)
        weights = op.Where(seen, op.Softmax(op.Add(scores, added), axis=-1), zero)
    if dropout_p:
        weights, _ = op.Dropout(weights, dropout_p)
    return op.MatMul(weights, value)


def _up_to_each(query: Value, key: Value) -> Value:
    """(length, keys), true up to the diagonal."""
    size = op.Concat(op.Shape(query, start=-2, end=-1), op.Shape(key, start=-2, end=-1), axis=0)
    ones = op.Expand(op.Constant(value_float=1.0), size)
    return op.Cast(op.Trilu(ones, upper=0), to=ir.DataType.BOOL)


def _each_head(value: Value, heads: int) -> Value:
    """(..., fewer heads, length, width) -> (..., heads, length, width), each as often as needed."""
    times = heads // value.shape[-3]
    if times == 1:
        return value
    ahead = len(value.shape) - 2
    repeated = op.Expand(op.Unsqueeze(value, [ahead]), op.Constant(value_ints=[times, 1, 1]))
    inner = op.Shape(value, start=-2)
    outer = op.Shape(value, end=-3)
    shape = op.Concat(outer, op.Constant(value_ints=[heads]), inner, axis=0)
    return op.Reshape(repeated, shape)

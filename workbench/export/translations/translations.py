"""Operators of PyTorch that torch's exporter does not support, or not in a trainable form.

Each function takes the arguments of the operator and returns its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.export.translations.attention import attention_translations
from workbench.export.translations.elementwise import elementwise_translations
from workbench.export.translations.grouped import grouped_translations
from workbench.export.translations.nodes import Value, number, op
from workbench.export.translations.pooling import pooling_translations
from workbench.export.translations.recurrent import recurrent_translations
from workbench.onnx_io.graph_metadata import DETACHED, DRAWN


def translations() -> dict[Any, Callable[..., Any]]:
    """The `custom_translation_table` of torch.onnx.export."""
    import torch

    from workbench.export.traced.stop_gradient import STOP_GRADIENT

    aten, prims = torch.ops.aten, torch.ops.prims
    return {
        aten._cdist_forward.default: _cdist,
        aten.amax.default: _amax,
        aten.amin.default: _amin,
        aten.bernoulli.default: _bernoulli,
        aten.bernoulli.p: _bernoulli_of,
        aten.cummax.default: _cummax,
        aten.cummin.default: _cummin,
        aten.kthvalue.default: _kthvalue,
        aten.max.dim: _max,
        aten.median.default: _median_of_all,
        aten.median.dim: _median,
        aten.min.dim: _min,
        aten.scatter_reduce.two: _scatter_reduce,
        aten.squeeze.dim: _squeeze,
        aten.squeeze.dims: _squeeze,
        prims.prod.default: _prod,
        **attention_translations(),
        **elementwise_translations(),
        **grouped_translations(),
        **pooling_translations(),
        **recurrent_translations(),
        STOP_GRADIENT: _stop_gradient,
    }


def _stop_gradient(x: Value) -> Value:
    """An identity node that the graph optimizers do not remove."""
    made = op.Clip(x)
    made.producer().metadata_props[DETACHED] = "1"
    return made


def _bernoulli(self: Value) -> Value:
    """1 where a uniform draw is less. ONNX Runtime's Bernoulli has the opposite comparison."""
    made = op.Cast(op.Less(op.RandomUniformLike(self), self), to=self.dtype)
    made.producer().metadata_props[DRAWN] = "1"
    return made


def _bernoulli_of(self: Value, p: float = 0.5) -> Value:
    chance = op.Expand(number(p, self), op.Shape(self))
    chance.dtype = self.dtype
    return _bernoulli(chance)


def _squeeze(self: Value, dim: int | Sequence[int]) -> Value:
    """Removes only axes of one element; ONNX's Squeeze fails for others."""
    axes = [dim] if isinstance(dim, int) else list(dim)
    alone = [axis for axis in axes if len(self.shape) and self.shape[axis] == 1]
    return op.Squeeze(self, alone) if alone else op.Identity(self)


def _amax(self: Value, dim: Sequence[int] = (), keepdim: bool = False) -> Value:
    return op.ReduceMax(self, list(dim) or None, keepdims=int(keepdim))


def _amin(self: Value, dim: Sequence[int] = (), keepdim: bool = False) -> Value:
    return op.ReduceMin(self, list(dim) or None, keepdims=int(keepdim))


def _prod(
    inp: Value,
    dims: Sequence[int] | None,
    *,
    output_dtype: Any = None,  # noqa: ARG001
) -> Value:
    return op.ReduceProd(inp, list(dims) if dims else None, keepdims=0)


def _max(self: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    return _taken(self, op.ArgMax(self, axis=dim, keepdims=1), dim, keepdim)


def _min(self: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    return _taken(self, op.ArgMin(self, axis=dim, keepdims=1), dim, keepdim)


def _taken(self: Value, index: Value, dim: int, keepdim: bool) -> tuple[Value, Value]:
    """The elements at `index`, which alone get a gradient, unlike in ReduceMax."""
    value = op.GatherElements(self, index, axis=dim)
    if keepdim or not self.shape.rank():
        return value, index
    return op.Squeeze(value, [dim]), op.Squeeze(index, [dim])


def _kthvalue(self: Value, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Value, Value]:
    return _kth_smallest(self, op.Constant(value_ints=[k]), dim, keepdim)


def _median(self: Value, dim: int = -1, keepdim: bool = False) -> tuple[Value, Value]:
    return _kth_smallest(self, _half(op.Gather(op.Shape(self), [dim])), dim, keepdim)


def _median_of_all(self: Value) -> Value:
    flat = op.Reshape(self, [-1])
    value, _ = _kth_smallest(flat, _half(op.Shape(flat)), 0, keepdim=True)
    # The gradient is divided among the elements that are equal to the median.
    return op.ReduceMax(
        op.Where(op.Equal(flat, value), flat, number(float("-inf"), self)), keepdims=0
    )


def _half(size: Value) -> Value:
    """Of two elements in the middle, torch's median is the lower."""
    return op.Div(op.Add(size, [1]), [2])


def _kth_smallest(self: Value, k: Value, dim: int, keepdim: bool) -> tuple[Value, Value]:
    """The k-th smallest elements along an axis, and where they are."""
    values, places = op.TopK(self, k, axis=dim, largest=0, sorted=1)
    last = op.Constant(value_ints=[-1]) if keepdim else op.Constant(value_int=-1)
    return op.Gather(values, last, axis=dim), op.Gather(places, last, axis=dim)


def _cummax(self: Value, dim: int) -> tuple[Value, Value]:
    prefixes, axis = _prefixes(self, dim, float("-inf"))
    latest = op.ArgMax(prefixes, axis=axis, keepdims=0, select_last_index=1)
    return _taken(self, latest, dim, keepdim=True)


def _cummin(self: Value, dim: int) -> tuple[Value, Value]:
    prefixes, axis = _prefixes(self, dim, float("inf"))
    latest = op.ArgMin(prefixes, axis=axis, keepdims=0, select_last_index=1)
    return _taken(self, latest, dim, keepdim=True)


def _prefixes(self: Value, dim: int, rest: float) -> tuple[Value, int]:
    """Every prefix along `dim`, filled up with `rest`, and the axis that its elements lie along.

    The axis before it counts the prefixes.
    """
    rank = self.shape.rank()
    axis = dim % rank
    size = op.Gather(op.Shape(self), op.Constant(value_int=axis))
    places = op.Range(op.Constant(value_int=0), size, op.Constant(value_int=1))
    # The axes are the prefix, the element and those after.
    after = list(range(2, rank - axis + 1))
    within = op.LessOrEqual(op.Unsqueeze(places, [0]), op.Unsqueeze(places, [1]))
    within = op.Unsqueeze(within, after) if after else within
    return op.Where(within, op.Unsqueeze(self, [axis]), number(rest, self)), axis + 1


def _cdist(x1: Value, x2: Value, p: float, compute_mode: int | None) -> Value:  # noqa: ARG001
    """Distances of every row of x1 to every row of x2, from their differences."""
    difference = op.Sub(op.Unsqueeze(x1, [-2]), op.Unsqueeze(x2, [-3]))
    if p == 1.0:
        return op.ReduceL1(difference, [-1], keepdims=0)
    if p == 2.0:
        return op.ReduceL2(difference, [-1], keepdims=0)
    distance = op.Abs(difference)
    if p == float("inf"):
        return op.ReduceMax(distance, [-1], keepdims=0)
    if p == 0.0:
        apart = op.Greater(distance, number(0.0, x1))
        return op.ReduceSum(op.Cast(apart, to=x1.dtype), [-1], keepdims=0)
    total = op.ReduceSum(op.Pow(distance, number(p, x1)), [-1], keepdims=0)
    return op.Pow(total, number(1.0 / p, x1))


_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}
_NEUTRAL = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": float("-inf"), "amin": float("inf")}


def _scatter_reduce(
    self: Value, dim: int, index: Value, src: Value, reduce: str, *, include_self: bool = True
) -> Value:
    data = self
    if not include_self:
        # The data begins at the neutral element of the reduction.
        neutral = op.Expand(number(_NEUTRAL[reduce], self), op.Shape(index))
        data = _scattered(self, dim, index, neutral, "none")
    if reduce != "mean":
        return _scattered(data, dim, index, src, _REDUCTIONS[reduce])
    total = _scattered(data, dim, index, src, "add")
    one, none = number(1.0, self), number(0.0, self)
    ones = op.Expand(one, op.Shape(index))
    counts = op.Expand(one, op.Shape(self))
    if not include_self:
        counts = _scattered(counts, dim, index, op.Mul(ones, none), "none")
    return op.Div(total, _scattered(counts, dim, index, ones, "add"))


def _scattered(data: Value, dim: int, index: Value, updates: Value, reduction: str) -> Value:
    return op.ScatterElements(data, index, updates, axis=dim, reduction=reduction)

"""Elementwise functions in ONNX with the values and gradients of PyTorch.

What torch's exporter writes for them overflows, loses digits, has NaN as a gradient, or leaves
open which gradient applies at a bound; or it knows none of them. Each function takes the arguments
of the operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from workbench.export.translations.nodes import Value, number, op
from workbench.onnx_io.graph_metadata import DETACHED, OPEN_BOUNDS

_SOFTPLUS_THRESHOLD = 20.0
"""From here on softplus(x) is x in float32, and its slope 1."""

_EXPM1_LEAST = -40.0
"""From here down expm1(x) is -1 in float32; exp(x / 2) and sinh(x / 2) are still finite."""


def elementwise_translations() -> dict[Any, Callable[..., Any]]:
    """Their part of the `custom_translation_table` of torch.onnx.export."""
    import torch

    aten = torch.ops.aten
    return {
        aten.atan2.default: _atan2,
        aten.clamp.default: _clamp,
        aten.clamp.Tensor: _clamp,
        aten.clamp_max.default: _clamp_max,
        aten.clamp_max.Tensor: _clamp_max,
        aten.clamp_min.default: _clamp,
        aten.clamp_min.Tensor: _clamp,
        aten.copysign.Scalar: _copysign_number,
        aten.copysign.Tensor: _copysign,
        aten.expm1.default: _expm1,
        aten.fmax.default: _fmax,
        aten.fmin.default: _fmin,
        aten.hardtanh.default: _hardtanh,
        aten.hypot.default: _hypot,
        aten.log1p.default: _log1p,
        aten.log_sigmoid.default: _log_sigmoid,
        aten.logaddexp.default: _logaddexp,
        aten.relu6.default: _relu6,
        aten.signbit.default: _signbit,
        aten.sinc.default: _sinc,
        aten.softplus.default: _softplus,
        aten.xlogy.Tensor: _xlogy,
    }


def _hardtanh(self: Value, min_val: float = -1.0, max_val: float = 1.0) -> Value:
    made = op.Clip(self, number(min_val, self), number(max_val, self))
    made.producer().metadata_props[OPEN_BOUNDS] = "1"
    return made


def _relu6(self: Value) -> Value:
    return _hardtanh(self, 0.0, 6.0)


def _clamp(self: Value, min: Any = None, max: Any = None) -> Value:  # noqa: A002
    """Numbers equal to a bound are inside, unlike ties of torch.maximum."""
    low, high = _bound(min, self), _bound(max, self)
    if all(bound is None or bound.shape is None or not len(bound.shape) for bound in (low, high)):
        return op.Clip(self, low, high)
    if high is None:
        return op.Where(op.Less(self, low), low, self)
    if low is None:
        return op.Where(op.Greater(self, high), high, self)
    # With equal bounds the gradient is zero, and with crossed bounds the upper one applies.
    stopped = op.Clip(high)
    stopped.producer().metadata_props[DETACHED] = "1"
    least = op.Where(op.Less(low, high), low, stopped)
    raised = op.Where(op.Less(self, low), least, self)
    above = op.Or(op.Greater(self, high), op.Greater(low, high))
    return op.Where(above, high, raised)


def _clamp_max(self: Value, max: Any) -> Value:  # noqa: A002
    return _clamp(self, None, max)


def _bound(bound: Any, like: Value) -> Value | None:
    if bound is None:
        return None
    if isinstance(bound, int | float):
        return number(bound, like)
    return bound if bound.dtype == like.dtype else op.Cast(bound, to=like.dtype)


def _softplus(self: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    scaled = self if beta == 1.0 else op.Mul(self, number(beta, self))
    soft = op.Softplus(scaled)
    soft = soft if beta == 1.0 else op.Div(soft, number(beta, self))
    if threshold >= _SOFTPLUS_THRESHOLD:
        return soft
    return op.Where(op.Greater(scaled, number(threshold, self)), self, soft)


def _log_sigmoid(self: Value) -> Value:
    return op.Neg(op.Softplus(op.Neg(self)))


def _expm1(self: Value) -> Value:
    """2 exp(x / 2) sinh(x / 2), which is precise near zero."""
    half = op.Mul(op.Clip(self, number(_EXPM1_LEAST, self)), number(0.5, self))
    return op.Mul(op.Mul(op.Exp(half), op.Sinh(half)), number(2.0, self))


def _log1p(self: Value) -> Value:
    """asinh((x + x / (1 + x)) / 2), which is precise near zero."""
    ratio = op.Div(self, op.Add(self, number(1.0, self)))
    return op.Asinh(op.Mul(op.Add(self, ratio), number(0.5, self)))


def _logaddexp(self: Value, other: Value) -> Value:
    """The larger and what the other adds to it, so that nothing overflows."""
    equal = op.Equal(self, other)
    # Equal infinities have no difference.
    gap = op.Where(equal, number(0.0, self), op.Sub(self, other))
    return op.Add(op.Max(self, other), op.Softplus(op.Neg(op.Abs(gap))))


def _xlogy(self: Value, other: Value) -> Value:
    zero, one = number(0.0, self), number(1.0, self)
    without = op.And(op.Equal(self, zero), op.LessOrEqual(other, zero))
    return op.Mul(self, op.Log(op.Where(without, one, other)))


def _sinc(self: Value) -> Value:
    angle = op.Mul(self, number(math.pi, self))
    one = number(1.0, self)
    flat = op.Equal(angle, number(0.0, self))
    divisor = op.Where(flat, one, angle)
    return op.Where(flat, one, op.Div(op.Sin(divisor), divisor))


def _hypot(self: Value, other: Value) -> Value:
    return op.Sqrt(op.Add(op.Mul(self, self), op.Mul(other, other)))


def _copysign(self: Value, other: Value) -> Value:
    size = op.Abs(self)
    return op.Where(_signbit(other), op.Neg(size), size)


def _copysign_number(self: Value, other: float) -> Value:
    size = op.Abs(self)
    return op.Neg(size) if math.copysign(1.0, other) < 0 else size


def _signbit(self: Value) -> Value:
    """Whether a number is below zero, or -0, whose reciprocal is; of NaN no sign is known."""
    zero = number(0.0, self)
    below = op.Less(op.Reciprocal(self), zero)
    return op.Or(op.Less(self, zero), op.And(op.Equal(self, zero), below))


def _fmax(self: Value, other: Value) -> Value:
    return op.Where(op.Or(op.GreaterOrEqual(self, other), op.IsNaN(other)), self, other)


def _fmin(self: Value, other: Value) -> Value:
    return op.Where(op.Or(op.LessOrEqual(self, other), op.IsNaN(other)), self, other)


def _atan2(self: Value, other: Value) -> Value:
    """The angle of (other, self) by the ratio of the shorter side to the longer.

    Neither the ratio nor its gradient divides by zero, and at (0, 0) there is no gradient.
    """
    y, x, zero = self, other, number(0.0, self)
    steep = op.Greater(op.Abs(y), op.Abs(x))
    longer = op.Where(steep, y, x)
    at_origin = op.Equal(longer, zero)
    shorter = op.Where(at_origin, zero, op.Where(steep, x, y))
    angle = op.Atan(op.Div(shorter, op.Where(at_origin, number(1.0, self), longer)))
    signed_half_pi = op.Mul(op.Sign(y), number(math.pi / 2, self))
    signed_pi = op.Where(op.Less(y, zero), number(-math.pi, self), number(math.pi, self))
    start = op.Where(steep, signed_half_pi, op.Where(op.Less(x, zero), signed_pi, zero))
    return op.Add(start, op.Where(steep, op.Neg(angle), angle))

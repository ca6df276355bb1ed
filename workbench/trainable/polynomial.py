"""Polynomials of one value of a graph, as the nodes that compute them say."""

from __future__ import annotations

import math
from collections.abc import Iterable

import onnx_ir as ir

from workbench.trainable.constants import is_state

_HIGHEST = 3
"""Power that is followed."""

Coefficients = dict[int, float]
"""Power -> its factor; those of 0 are left out."""


class Polynomial:
    """Reads values as polynomials of `x`, through additions, products and powers.

    Attributes:
        nodes: all that were read through, each once.
    """

    def __init__(self, x: ir.Value) -> None:
        self._x = x
        self._read: dict[ir.Value, Coefficients | None] = {}
        self.nodes: list[ir.Node] = []

    def of(self, value: ir.Value | None) -> Coefficients | None:
        """The coefficients of a value; None if it is not such a polynomial."""
        if value is None:
            return None
        if value is self._x:
            return {1: 1.0}
        constant = number(value)
        if constant is not None:
            return {0: constant} if constant else {}
        if value not in self._read:
            self._read[value] = self._of_node(value.producer())
        return self._read[value]

    def product(self, values: Iterable[ir.Value | None]) -> Coefficients | None:
        """The coefficients of a product of values."""
        made: Coefficients | None = {0: 1.0}
        for value in values:
            made = _product(made, self.of(value))
        return made

    def _of_node(self, node: ir.Node | None) -> Coefficients | None:
        if node is None or node.domain or len(node.inputs) != 2:
            return None
        one, other = node.inputs
        constant = number(other)
        made: Coefficients | None = None
        if node.op_type == "Mul":
            made = _product(self.of(one), self.of(other))
        elif node.op_type == "Add":
            made = _sum(self.of(one), self.of(other))
        elif node.op_type == "Div" and constant:
            made = _product(self.of(one), {0: 1 / constant})
        elif node.op_type == "Pow" and constant in range(1, _HIGHEST + 1):
            made = self.product([one] * int(constant or 0))
        if made is not None:
            self.nodes.append(node)
        return made


def number(value: ir.Value | None) -> float | None:
    """A constant of one element that is finite; else None."""
    tensor = None if value is None or is_state(value) else value.const_value
    if tensor is None or tensor.size != 1:
        return None
    found = float(tensor.numpy().item())
    return found if math.isfinite(found) else None


def _product(one: Coefficients | None, other: Coefficients | None) -> Coefficients | None:
    if one is None or other is None:
        return None
    made: Coefficients = {}
    for power, factor in one.items():
        for further, times in other.items():
            made[power + further] = made.get(power + further, 0.0) + factor * times
    return _nonzero(made)


def _sum(one: Coefficients | None, other: Coefficients | None) -> Coefficients | None:
    if one is None or other is None:
        return None
    powers = {*one, *other}
    return _nonzero({each: one.get(each, 0.0) + other.get(each, 0.0) for each in powers})


def _nonzero(made: Coefficients) -> Coefficients | None:
    found = {power: factor for power, factor in made.items() if factor}
    return None if max(found, default=0) > _HIGHEST else found

"""Values of a graph that mark padding tokens, and those that mask scores of attention."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from workbench.ort.graph.padding.graph_values import GraphValues
from workbench.ort.graph.padding.layout import MaskedBy, Sizes

LOW = -1e8
"""Upper bound of a number that masks a score."""

_SCORES = frozenset({"Gather", "Gemm", "LayerNormalization", "MatMul", "Shape", "Softmax"})
"""Operators whose results are not masks."""


class Mask(NamedTuple):
    """A value of the graph that marks padding tokens."""

    value: str
    """Of shape (batch, tokens)."""
    padded: float
    """The number that marks padding."""
    sizes: Sizes


def masks(values: GraphValues, arguments: Iterable[str]) -> list[Mask]:
    """Values that may mark padding tokens: arguments, and their comparison with one number."""
    from onnx import TensorProto

    possible: list[tuple[str, float]] = []
    names = [value.name for value in values.graph.input if value.name in set(arguments)]
    for name in names:
        kind = values.element_type(name)
        if kind == TensorProto.BOOL:
            possible += [(name, 1.0), (name, 0.0)]
        elif kind in (TensorProto.INT64, TensorProto.INT32):
            possible.append((name, 0.0))
        elif kind == TensorProto.FLOAT:
            possible.append((name, 0.0))
            if not _is_calculated_with(name, values):
                possible.append((name, float("-inf")))
    compared = set[tuple[str, ...]]()
    for node in values.graph.node:
        key = tuple(node.input)
        known = node.op_type == "Equal" and key not in compared and set(key) & set(names)
        if known and any(values.uniform(name) is not None for name in key):
            compared.add(key)
            possible.append((node.output[0], 1.0))
    found = []
    for name, padded in possible:
        shape = values.shape(name)
        if shape is not None and len(shape) == 2 and None not in shape and 1 not in shape:
            batch, token = shape
            assert batch is not None
            assert token is not None
            if batch != token:
                found.append(Mask(name, padded, Sizes(batch, token)))
    return found


def _is_calculated_with(name: str, values: GraphValues) -> bool:
    """Whether a mask is subtracted or multiplied, as in `(1 - mask) * -10000`.

    Such a mask holds 0 and 1. One that is added to scores as it is may hold -infinity.
    """
    pending = [name]
    while pending:
        for node in values.editor.readers(pending.pop()):
            if node.op_type in ("Mul", "Sub"):
                return True
            if node.op_type in ("Cast", "Expand", "Identity", "Reshape", "Unsqueeze"):
                pending.append(node.output[0])
    return False


def is_only_mask(scores: str, masked_by: MaskedBy, values: GraphValues) -> bool:
    """Whether `masked_by` alone masks these scores.

    Each of several masks may leave a row some keys, and all together none.
    """
    arguments = {value.name for value in values.graph.input}
    pending, visited = [scores], {masked_by.value}
    while pending:
        name = pending.pop()
        if name in visited:
            continue
        visited.add(name)
        constant = values.editor.constant(name)
        if constant is not None:
            if constant.dtype.kind == "f" and constant.size and constant.min() < LOW:
                return False
            continue
        node = values.editor.producers.get(name)
        if node is None:
            if name in arguments:
                return False
        elif node.op_type == "Where" and node.input[0] == masked_by.value:
            uniform = [each for each in node.input[1:] if values.uniform(each) is None]
            pending += uniform
        elif node.op_type == "ConstantOfShape":
            if (values.uniform(name) or 0.0) < LOW:
                return False
        elif node.op_type not in _SCORES:
            pending += filter(None, node.input)
    return True

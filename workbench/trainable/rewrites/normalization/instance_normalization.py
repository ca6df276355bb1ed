"""InstanceNormalization by LayerNormalization, as both normalize over the places of a channel."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.rewrite import GraphEdit, Rewrite

_FIRST_WITH_AXES_AS_INPUT = 18
"""Opset."""

_EXPORTED_CONSTANT = "val_"
"""Prefix of the names of constants that torch's exporter added."""


class InstanceToLayerNormalization(Rewrite):
    """Normalizes each channel of (batch, channels, places) over its places, then scales it.

    Where the number of places is unknown, the statistics are reductions. This is the
    form that GroupNorm is exported in too, with groups as channels, a scale of ones and a bias of
    zeros, which are then left out.

    Precondition: opset 18 or later, a known rank of at least 3.
    """

    op: ClassVar[str] = "InstanceNormalization"
    note: ClassVar[str] = "normalizes the places of each channel as a LayerNormalization"

    @override
    def applies(self, node: ir.Node) -> bool:
        source = node.inputs[0]
        return (
            node.graph is not None
            and node.graph.opset_imports.get("", 0) >= _FIRST_WITH_AXES_AS_INPUT
            and source is not None
            and source.shape is not None
            and len(source.shape) > 2
        )

    @override
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        source, scale, bias = node.inputs
        assert source is not None
        assert source.shape is not None
        rank = len(source.shape)
        places = source.shape[2:]
        nodes: list[ir.Node] = []
        known = [size for size in places if isinstance(size, int)]
        if len(known) == len(places):
            nodes += _by_layer(node, source, known, edit)
        else:
            nodes += _by_reductions(node, source, rank, edit)
        for op, value, neutral in (("Mul", scale, 1.0), ("Add", bias, 0.0)):
            if value is None or _is_constant(value, neutral):
                continue
            shape = np.array([-1] + [1] * (rank - 2))
            aligned = ir.node("Reshape", [value, _constant(node, "aligned", shape, edit)])
            nodes += [aligned, ir.node(op, [nodes[-1].outputs[0], aligned.outputs[0]])]
        edit.replace([node], nodes, {node.outputs[0]: nodes[-1].outputs[0]})


def _by_layer(node: ir.Node, source: ir.Value, places: list[int], edit: GraphEdit) -> list[ir.Node]:
    count = math.prod(places)
    ones, zeros = np.ones(count, np.float32), np.zeros(count, np.float32)
    nodes = []
    if len(places) > 1:
        flat = _constant(node, "flat", np.array([0, 0, count]), edit)
        nodes.append(ir.node("Reshape", [source, flat]))
        source = nodes[-1].outputs[0]
    weights = [_constant(node, "ones", ones, edit), _constant(node, "zeros", zeros, edit)]
    normalized = ir.node(
        "LayerNormalization",
        [source, *weights],
        {"axis": -1, "epsilon": _epsilon(node)},
        num_outputs=3,
    )
    for output in normalized.outputs[1:]:
        output.type = ir.TensorType(ir.DataType.FLOAT)
    nodes.append(normalized)
    if len(places) > 1:
        shape = _constant(node, "shape", np.array([0, 0, *places]), edit)
        nodes.append(ir.node("Reshape", [normalized.outputs[0], shape]))
    return nodes


def _by_reductions(node: ir.Node, source: ir.Value, rank: int, edit: GraphEdit) -> list[ir.Node]:
    axes = _constant(node, "axes", np.arange(2, rank), edit)
    epsilon = _constant(node, "epsilon", np.array(_epsilon(node), np.float32), edit)
    mean = ir.node("ReduceMean", [source, axes])
    centred = ir.node("Sub", [source, mean.outputs[0]])
    square = ir.node("Mul", [centred.outputs[0], centred.outputs[0]])
    variance = ir.node("ReduceMean", [square.outputs[0], axes])
    positive = ir.node("Add", [variance.outputs[0], epsilon])
    deviation = ir.node("Sqrt", [positive.outputs[0]])
    quotient = ir.node("Div", [centred.outputs[0], deviation.outputs[0]])
    return [mean, centred, square, variance, positive, deviation, quotient]


def _constant(node: ir.Node, what: str, value: np.ndarray, edit: GraphEdit) -> ir.Value:
    return edit.constant(f"{node.outputs[0].name}.{what}", ir.tensor(value))


def _epsilon(node: ir.Node) -> float:
    return node.attributes.get_float("epsilon", 1e-5)


def _is_constant(value: ir.Value, number: float) -> bool:
    """Whether `value` is an exported constant of this number; a parameter may change."""
    tensor = value.const_value
    return (
        tensor is not None
        and str(value.name).startswith(_EXPORTED_CONSTANT)
        and bool((tensor.numpy() == number).all())
    )

"""Replaces slow gradient operators of ONNX Runtime by standard operators.

`python -m benchmarks gradients` measures the ratio of their times. The sums
of GatherGrad, which differ from run to run with several threads, are the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import MICROSOFT

if TYPE_CHECKING:
    import onnx


def write_standard_gradients(model: onnx.ModelProto, but: Collection[str] = ()) -> dict[str, str]:
    """Replace the slow gradients of `model` by standard operators, in place.

    They are all FastGeluGrad, GatherGrad, GeluGrad, LogSoftmaxGrad and ReluGrad, and X^1, from the
    gradient of a square. The results are the same for finite gradients, up to rounding. A node is
    not changed if too little is known of its types and shapes.

    Args:
        model: both passes. Its domain "" has opset 16 or later. A value whose type it does not
            have is float32.
        but: families, of `FAMILIES`, whose gradients are not changed.

    Returns:
        First output of each new node -> first output of the node that it replaced.
    """
    editor = GraphEditor(model.graph)
    replaced: dict[str, str] = {}
    for node in editor.nodes:
        family, write = _WRITERS.get((node.domain, node.op_type), ("", None))
        if write is None or family in but:
            continue
        made = write(editor, node)
        if made:
            editor.replace([node], made)
            replaced.update((part.output[0], node.output[0]) for part in made)
    if replaced:
        editor.finish(model, "gradients in standard operators")
    return replaced


class _GradientNodes:
    """The nodes that replace `node`, in order."""

    def __init__(self, node: onnx.NodeProto) -> None:
        self._node = node
        self.made: list[onnx.NodeProto] = []

    def add(self, op: str, *inputs: str, last: bool = False, **attributes: Any) -> str:
        """Append an operator; returns the name of its result, which is that of the node for the
        `last`."""
        from onnx import helper

        name = f"{self._node.name or self._node.output[0]}/{len(self.made)}/{op}"
        result = self._node.output[0] if last else name
        self.made.append(helper.make_node(op, inputs, [result], name, **attributes))
        return result


def _gather_gradient(editor: GraphEditor, node: onnx.NodeProto) -> list[onnx.NodeProto] | None:
    """ScatterElements adds each row of the gradient to the row that was gathered.

    Not a product with one-hot rows, which is faster for small tables: zero times infinity is NaN,
    so that an infinite gradient would spread to all rows.
    """
    shape, indices, gradient = node.input
    axis, rank = attribute(node, "axis", 0), editor.rank(indices)
    if rank is None:
        return None
    steps = _GradientNodes(node)
    if axis == 0:
        rows = steps.add("Flatten", gradient, axis=rank)
        column = steps.add("Reshape", indices, editor.integers([-1, 1]))
        zeros = steps.add("Flatten", steps.add("ConstantOfShape", shape), axis=1)
        scattered = steps.add("Expand", column, steps.add("Shape", rows))
        added = steps.add("ScatterElements", zeros, scattered, rows, axis=0, reduction="add")
        steps.add("Reshape", added, shape, last=True)
        return steps.made
    gathered = editor.rank(gradient)
    if gathered is None or rank > 1:
        return None
    axes = gathered + 1 - rank
    axis %= axes
    if rank == 0:
        gradient = steps.add("Unsqueeze", gradient, editor.integers([axis]))
    along = steps.add("Reshape", indices, editor.integers([-1, *[1] * (axes - axis - 1)]))
    scattered = steps.add("Expand", along, steps.add("Shape", gradient))
    zeros = steps.add("ConstantOfShape", shape)
    steps.add(
        *("ScatterElements", zeros, scattered, gradient), axis=axis, reduction="add", last=True
    )
    return steps.made


def _gelu_gradient(editor: GraphEditor, node: onnx.NodeProto) -> list[onnx.NodeProto] | None:
    """dx = dy (1/2 + erf(t)/2 + t exp(-t²)/√π), where t = x/√2."""
    gradient, x = node.input
    if not editor.may_be_float(x):
        return None
    steps, half = _GradientNodes(node), editor.real(0.5)
    t = steps.add("Mul", x, editor.real(math.sqrt(0.5)))
    density = steps.add("Exp", steps.add("Neg", steps.add("Mul", t, t)))
    tail = steps.add("Mul", steps.add("Mul", density, t), editor.real(1 / math.sqrt(math.pi)))
    share = steps.add("Add", steps.add("Mul", steps.add("Erf", t), half), half)
    steps.add("Mul", gradient, steps.add("Add", share, tail), last=True)
    return steps.made


def _fast_gelu_gradient(editor: GraphEditor, node: onnx.NodeProto) -> list[onnx.NodeProto] | None:
    """dx = dy (s + x s (1 - s) z'), s = 1/(1 + exp(-z)), z = 2 √(2/π) (x + 0.044715 x³).

    Beyond 20 on either side the slope is 1 or 0 in float32.
    """
    gradient, x, *bias = node.input
    if any(bias) or not editor.may_be_float(x):
        return None
    steps, factor = _GradientNodes(node), 2 * math.sqrt(2 / math.pi)
    x = steps.add("Clip", x, editor.real(-20.0), editor.real(20.0))
    square = steps.add("Mul", x, x)

    def along(cubic: float) -> str:
        scaled = steps.add("Mul", square, editor.real(cubic * factor))
        return steps.add("Add", scaled, editor.real(factor))

    share = steps.add("Sigmoid", steps.add("Mul", x, along(0.044715)))
    rest = steps.add("Sub", editor.real(1.0), share)
    inner = steps.add("Mul", steps.add("Mul", x, along(3 * 0.044715)), rest)
    slope = steps.add("Add", share, steps.add("Mul", share, inner))
    steps.add("Mul", gradient, slope, last=True)
    return steps.made


def _relu_gradient(editor: GraphEditor, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """dx = dy where y is positive, else 0: by a product, without a branch for each element."""
    gradient, result = node.input
    steps, kind = _GradientNodes(node), editor.element_type(result, gradient)
    positive = steps.add("Greater", result, editor.zero(kind))
    steps.add("Mul", gradient, steps.add("Cast", positive, to=kind), last=True)
    return steps.made


def _log_softmax_gradient(editor: GraphEditor, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """dx = dy - exp(y) Σdy, whose sum is along the axis."""
    gradient, result = node.input
    steps = _GradientNodes(node)
    axes = editor.integers([attribute(node, "axis", -1)])
    total = steps.add("ReduceSum", gradient, axes, keepdims=1)
    share = steps.add("Mul", steps.add("Exp", result), total)
    steps.add("Sub", gradient, share, last=True)
    return steps.made


def _first_power(editor: GraphEditor, node: onnx.NodeProto) -> list[onnx.NodeProto] | None:
    """X^1, which ONNX Runtime would compute by its general power."""
    base, power = node.input
    exponent = _exponent(editor, power)
    if exponent is None or exponent.item() != 1 or exponent.ndim > (editor.rank(base) or 0):
        return None
    steps = _GradientNodes(node)
    steps.add("Identity", base, last=True)
    return steps.made


def _exponent(editor: GraphEditor, name: str) -> np.ndarray[Any, Any] | None:
    """The constant number that `name` is, or the difference of two, as ONNX Runtime writes it."""
    difference = editor.producer(name, "Sub")
    names = [name] if difference is None else list(difference.input)
    found = [value for value in map(editor.constant, names) if value is not None]
    if len(found) < len(names) or any(value.size != 1 for value in found):
        return None
    return found[0] if difference is None else np.subtract(*found)


_Write = Callable[[GraphEditor, "onnx.NodeProto"], "list[onnx.NodeProto] | None"]

_WRITERS: Mapping[tuple[str, str], tuple[str, _Write]] = {
    (MICROSOFT, "FastGeluGrad"): ("gelu", _fast_gelu_gradient),
    (MICROSOFT, "GatherGrad"): ("embedding", _gather_gradient),
    (MICROSOFT, "GeluGrad"): ("gelu", _gelu_gradient),
    (MICROSOFT, "LogSoftmaxGrad_13"): ("softmax", _log_softmax_gradient),
    (MICROSOFT, "ReluGrad"): ("relu", _relu_gradient),
    ("", "Pow"): ("", _first_power),
}
"""Domain and operator -> its family, and the function that replaces it."""

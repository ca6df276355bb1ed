"""Replaces slow gradient operators of ONNX Runtime by standard operators.

`python -m benchmarks gradients` measures the ratio of their times. The sums
of GatherGrad, which differ from run to run with several threads, are the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from workbench.ort.graph.graph_editor import GraphEditor, attribute

if TYPE_CHECKING:
    import onnx

_MICROSOFT = "com.microsoft"


def write_standard_gradients(model: onnx.ModelProto, but: Collection[str] = ()) -> dict[str, str]:
    """Replace every GatherGrad, GeluGrad and ReluGrad of `model` by standard operators, in place.

    The results are the same for finite gradients, up to rounding. A node is not changed if too
    little is known of its types and shapes.

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
        family, write = _WRITERS.get(node.op_type, ("", None))
        if family in but:
            continue
        made = write(editor, node) if write is not None and node.domain == _MICROSOFT else None
        if made:
            editor.replace([node], made)
            replaced.update((part.output[0], node.output[0]) for part in made)
    if replaced:
        editor.finish(model, "gradients in standard operators")
    return replaced


class _Steps:
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
    steps = _Steps(node)
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
    steps, half = _Steps(node), editor.real(0.5)
    t = steps.add("Mul", x, editor.real(math.sqrt(0.5)))
    density = steps.add("Exp", steps.add("Neg", steps.add("Mul", t, t)))
    tail = steps.add("Mul", steps.add("Mul", density, t), editor.real(1 / math.sqrt(math.pi)))
    share = steps.add("Add", steps.add("Mul", steps.add("Erf", t), half), half)
    steps.add("Mul", gradient, steps.add("Add", share, tail), last=True)
    return steps.made


def _relu_gradient(editor: GraphEditor, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """dx = dy where y is positive, else 0: by a product, without a branch for each element."""
    gradient, result = node.input
    steps, kind = _Steps(node), editor.element_type(result, gradient)
    positive = steps.add("Greater", result, editor.zero(kind))
    steps.add("Mul", gradient, steps.add("Cast", positive, to=kind), last=True)
    return steps.made


_Write = Callable[[GraphEditor, "onnx.NodeProto"], "list[onnx.NodeProto] | None"]

_WRITERS: Mapping[str, tuple[str, _Write]] = {
    "GatherGrad": ("embedding", _gather_gradient),
    "GeluGrad": ("gelu", _gelu_gradient),
    "ReluGrad": ("relu", _relu_gradient),
}
"""Operator -> its family, and the function that replaces it."""

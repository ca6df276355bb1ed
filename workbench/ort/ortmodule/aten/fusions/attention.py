"""Attention as one kernel, which never stores all attention weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from onnx import helper

from workbench.onnx_io.nodes import attribute
from workbench.ort.ortmodule.aten.fusions.fusion_graph import FusionGraph
from workbench.ort.ortmodule.aten.kernel_call import DOMAIN
from workbench.trainable.custom_gradient import BackwardGraph

if TYPE_CHECKING:
    import onnx

FORWARD, BACKWARD = "workbench_kernels::attention", "workbench_kernels::attention_backward"

_MASKED = -1e30
"""Upper bound of the value that a mask adds to the scores of masked keys."""


class _Operand(NamedTuple):
    """A value and the order of its axes in which it is (batch, heads, length, width)."""

    value: str
    axes: Sequence[int]
    nodes: Sequence[onnx.NodeProto] = ()
    """Nodes between it and its use."""


class _Scores(NamedTuple):
    """query @ key^T * scale."""

    query: _Operand
    key: _Operand
    scale: float
    nodes: Sequence[onnx.NodeProto]


class _Weights(NamedTuple):
    """The Softmax of masked scores, with zeros in rows whose keys are all masked."""

    value: str
    seen: str
    """A value that is false at these zeros; empty: NaN was replaced by zero."""
    nodes: Sequence[onnx.NodeProto]


class _Mask(NamedTuple):
    """Mask that is added to the scores."""

    value: str = ""
    """Empty: none."""
    seen: str = ""
    """A value that is false where `value` counts as minus infinity; empty: nowhere."""
    is_causal: bool = False
    """Whether the mask is exactly the causal mask."""


def fuse_attention(softmax: onnx.NodeProto, graph: FusionGraph) -> bool:
    """Replace the nodes around a Softmax by one kernel, if they are attention without dropout.

    That is: MatMul of queries and transposed keys, scaled before or after, a mask added to it, the
    Softmax, zeros in rows without keys, MatMul with the values.
    """
    if len(graph.shape(softmax.output[0]) or ()) != 4:
        return False
    if attribute(softmax, "axis", -1) not in (-1, 3) or graph.uses[softmax.input[0]] != 1:
        return False
    added, masking = "", []
    product = softmax.input[0]
    add = graph.alone(product, "Add")
    if add is not None:
        side = 0 if graph.alone(add.input[0], "MatMul", "Mul", "Div") is not None else 1
        product, added, masking = add.input[side], add.input[1 - side], [add]
    scores = _scores(product, graph)
    weights = _guarded(softmax.output[0], graph)
    last = graph.reader(weights.value, "MatMul")
    mask = _mask(added, weights.seen, graph)
    if scores is None or mask is None or last is None or last.input[0] != weights.value:
        return False
    value = _through_transpose(last.input[1], (0, 1, 2, 3), graph)
    if not _fits([scores.query, scores.key, value], graph):
        return False
    result = _into_transpose(last.output[0], graph)
    nodes = [*value.nodes, *scores.nodes, *masking, softmax, *weights.nodes, last, *result.nodes]
    _fuse(nodes, scores, value, mask, result, graph)
    return True


def _scores(name: str, graph: FusionGraph) -> _Scores | None:
    name, scale, outer = _unscaled(name, graph)
    product = graph.alone(name, "MatMul")
    if product is None:
        return None
    operands, nodes = [], [product, *outer]
    for side, axes in ((0, (0, 1, 2, 3)), (1, (0, 1, 3, 2))):
        value, factor, scaling = _unscaled(product.input[side], graph)
        scale *= factor
        operand = _through_transpose(value, axes, graph)
        operands.append(operand)
        nodes = [*operand.nodes, *scaling, *nodes]
    return _Scores(operands[0], operands[1], scale, nodes)


def _unscaled(name: str, graph: FusionGraph) -> tuple[str, float, list[onnx.NodeProto]]:
    """The value before a multiplication with a constant, the constant, and the node."""
    node = graph.alone(name, "Mul", "Div")
    if node is not None:
        for side in (1, 0) if node.op_type == "Mul" else (1,):
            number = graph.scalar(node.input[side])
            if number is not None and number != 0:
                factor = number if node.op_type == "Mul" else 1 / number
                return node.input[1 - side], factor, [node]
    return name, 1.0, []


def _through_transpose(name: str, axes: Sequence[int], graph: FusionGraph) -> _Operand:
    """The operand before the Transposes that return these axes, if only it uses them."""
    nodes: list[onnx.NodeProto] = []
    while (node := graph.alone(name, "Transpose")) is not None:
        order = attribute(node, "perm", [3, 2, 1, 0])
        axes = [order[axis] for axis in axes]
        name, nodes = node.input[0], [node, *nodes]
    return _Operand(name, axes, nodes)


def _into_transpose(name: str, graph: FusionGraph) -> _Operand:
    """The result after its only reader, a Transpose, and the order of its axes there."""
    between = []
    behind = name
    same = graph.reader(name, "Reshape")
    if same is not None and graph.shape(same.output[0]) == graph.shape(name):
        between.append(same)
        behind = same.output[0]
    node = graph.reader(behind, "Transpose")
    if node is None:
        return _Operand(name, (0, 1, 2, 3))
    return _Operand(node.output[0], attribute(node, "perm", [3, 2, 1, 0]), [*between, node])


def _guarded(name: str, graph: FusionGraph) -> _Weights:
    node = graph.reader(name, "Where")
    if node is not None and node.input[1] == name and graph.scalar(node.input[2]) == 0:
        return _Weights(node.output[0], node.input[0], [node])
    readers = graph.readers(name)
    if sorted(each.op_type for each in readers) == ["IsNaN", "Where"]:
        test, choice = sorted(readers, key=lambda each: each.op_type)
        is_test = choice.input[0] == test.output[0] and graph.uses[test.output[0]] == 1
        if is_test and graph.uses[name] == 2 and graph.scalar(choice.input[1]) == 0:
            return _Weights(choice.output[0], "", [test, choice])
    return _Weights(name, "", [])


def _mask(added: str, seen: str, graph: FusionGraph) -> _Mask | None:
    """The mask; None: the kernel does not support it."""
    if not added:
        return None if seen else _Mask()
    shape = graph.shape(added)
    if shape is None or len(shape) > 4 or not graph.is_float(added) or graph.requires_grad(added):
        return None
    choice = graph.producer(added, "Where")
    is_of_seen = choice is not None and choice.input[0] == seen
    if is_of_seen and _always_true(seen, graph):
        return _Mask()
    numbers = graph.constant(added)
    if not seen and numbers is not None and _is_causal(numbers):
        return _Mask(is_causal=True)
    return _Mask(added, seen)


def _always_true(name: str, graph: FusionGraph) -> bool:
    expand = graph.producer(name, "Expand")
    numbers = graph.constant(expand.input[0] if expand is not None else name)
    return numbers is not None and bool(numbers.all())


def _is_causal(mask: np.ndarray[Any, Any]) -> bool:
    length = mask.shape[-1] if mask.ndim > 1 else 0
    if mask.size != length * length:
        return False
    square = mask.reshape(length, length)
    seen = np.tri(length, dtype=bool)
    return bool((square[seen] == 0).all() and (square[~seen] < _MASKED).all())


def _fits(operands: Sequence[_Operand], graph: FusionGraph) -> bool:
    """Whether the kernel supports these: float32, equal batch and heads, one width."""
    if not graph.is_float(*(each.value for each in operands)):
        return False
    batches, heads, widths = set(), set(), set()
    for each in operands:
        shape = graph.shape(each.value)
        if shape is None or len(shape) != 4:
            return False
        batches.add(shape[each.axes[0]])
        heads.add(shape[each.axes[1]])
        widths.add(shape[each.axes[3]])
    # A product broadcasts a batch of one to that of the other operand, which the kernel does not.
    alike = len(batches) == len(heads) == len(widths) == 1
    return alike and None not in heads | widths


def _fuse(
    nodes: Sequence[onnx.NodeProto],
    scores: _Scores,
    value: _Operand,
    mask: _Mask,
    result: _Operand,
    graph: FusionGraph,
) -> None:
    name = f"{result.value}.attention"
    operands = (scores.query, scores.key, value)
    axes = [axis for each in (*operands, result) for axis in each.axes]
    made = []
    added = mask.value
    if mask.seen:
        added = f"{name}.mask"
        never = graph.real(-np.inf)
        made.append(helper.make_node("Where", [mask.seen, mask.value, never], [added], added))
        graph.declare(added)
    inputs = [each.value for each in operands] + [added]
    inputs += [graph.real(scores.scale), graph.truth(mask.is_causal), graph.integers(axes)]
    sums = f"{name}.logsumexp"
    graph.declare(sums)
    outputs = [result.value, sums]
    made.append(helper.make_node("ATen", inputs, outputs, name, domain=DOMAIN, operator=FORWARD))
    backward = BackwardGraph()
    given = [backward.gradient(), *(backward.input(index) for index in range(3))]
    given += [backward.output(0), backward.output(1)]
    given.append(backward.input(3) if added else "")
    given.append(backward.constant(scores.scale))
    given.append(backward.constant(mask.is_causal, np.bool_))
    given.append(backward.constant(axes, np.int64))
    gradients = backward.nodes("ATen", *given, outputs=3, domain=DOMAIN, operator=BACKWARD)
    graph.fuse(nodes, made, backward.finish(name, dict(enumerate(gradients))))

"""The two halves of an attention in a training graph, each with its gradient: scores and mixing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor

if TYPE_CHECKING:
    import onnx

MICROSOFT = "com.microsoft"

_MASKED = -1e30
"""A mask's number from which on a key is masked whatever its score, and its probability is 0."""


class Mixing(NamedTuple):
    """From the probabilities to the result, and back."""

    product: onnx.NodeProto
    of_values: onnx.NodeProto
    upstream: str
    """The gradient of the result."""
    kept: str | None
    """Where probabilities are masked again: the condition that holds for those that stay."""
    forward: list[onnx.NodeProto]
    backward: list[onnx.NodeProto]


def mixing_of(editor: GraphEditor, slope: onnx.NodeProto) -> Mixing | None:
    gradient, probabilities = slope.input
    forward: list[onnx.NodeProto] = []
    backward: list[onnx.NodeProto] = []
    kept, uses = None, 3
    readers = [each for each in editor.readers(probabilities) if each is not slope]
    if len(readers) == 1 and readers[0].op_type == "Where" and editor.uses[probabilities] == 2:
        again, before = readers[0], editor.alone(gradient, "Where")
        kept, uses = _kept(editor, again, probabilities), 2
        if before is None or kept is None or _kept(editor, before, before.input[1]) != kept:
            return None
        forward.append(again)
        backward.append(before)
        probabilities, gradient = again.output[0], before.input[1]
        readers = editor.readers(probabilities)
    product = next((each for each in readers if _product(each, "MatMul")), None)
    of_values = next((each for each in readers if _product(each, "FusedMatMul", left=1)), None)
    slopes = editor.producers.get(gradient)
    if product is None or of_values is None or slopes is None:
        return None
    upstream = of_values.input[1]
    whole = (
        (editor.uses[probabilities], editor.uses[gradient]) == (uses, 1)
        and [product.input[0], of_values.input[0]] == [probabilities] * 2
        and _product(slopes, "FusedMatMul", right=1)
        and list(slopes.input) == [upstream, product.input[1]]
    )
    if not whole:
        return None
    forward.append(product)
    return Mixing(product, of_values, upstream, kept, forward, [*backward, of_values, slopes])


class Scores(NamedTuple):
    """From the product of Q and K to the softmax, and back."""

    product: onnx.NodeProto
    of_query: onnx.NodeProto
    of_key: onnx.NodeProto
    mask: str
    scale: float
    forward: list[onnx.NodeProto]
    backward: list[onnx.NodeProto]


def scores_of(editor: GraphEditor, softmax: onnx.NodeProto, slope: onnx.NodeProto) -> Scores | None:
    value, gradient, mask, scale = softmax.input[0], slope.output[0], "", 1.0
    forward: list[onnx.NodeProto] = []
    backward: list[onnx.NodeProto] = []
    while True:
        node = editor.producers.get(value)
        if node is None or node.domain or editor.uses[value] != 1:
            return None
        gradient = past_copies(editor, gradient, backward)
        forward.append(node)
        if node.op_type == "MatMul":
            break
        if node.op_type == "Add" and not mask and scale == 1.0:
            pair = _data_and_mask(editor, node)
            if pair is None:
                return None
            value, mask = pair
            continue
        reader = editor.only_reader(gradient)
        factor = factor_of(editor, node)
        if reader is None or factor is None or factor != factor_of(editor, reader):
            return None
        scale *= factor
        value, gradient = node.input[0], reader.output[0]
        backward.append(reader)
    readers = editor.readers(gradient)
    of_query = next((each for each in readers if _product(each, "FusedMatMul", right=1)), None)
    of_key = next((each for each in readers if _product(each, "FusedMatMul", left=1)), None)
    if of_query is None or of_key is None or editor.uses[gradient] != 2:
        return None
    if [*of_query.input, *of_key.input] != [gradient, node.input[1], node.input[0], gradient]:
        return None
    return Scores(node, of_query, of_key, mask, scale, forward, [*backward, of_query, of_key])


def past_copies(editor: GraphEditor, name: str, passed: list[onnx.NodeProto]) -> str:
    """The last copy of a value, where nothing else reads those before; they join `passed`."""
    while (copy := editor.reader(name, "Identity")) is not None:
        passed.append(copy)
        name = copy.output[0]
    return name


def _data_and_mask(editor: GraphEditor, add: onnx.NodeProto) -> tuple[str, str] | None:
    """The scores that are computed from a product, and what is added to each."""
    whole = editor.named_shape(add.output[0])
    for scores, mask in (add.input, list(add.input)[::-1]):
        shape = editor.named_shape(mask)
        if shape is None or whole is None or editor.named_shape(scores) != whole:
            continue
        if editor.producer(scores, "MatMul", "Mul", "Div") is None or len(shape) > len(whole):
            continue
        if all(size in (1, other) for size, other in zip(shape[::-1], whole[::-1], strict=False)):
            return scores, mask
    return None


def _kept(editor: GraphEditor, where: onnx.NodeProto, value: str) -> str | None:
    """The condition under which `where` gives `value`, and zero elsewhere."""
    zero = editor.scalar(where.input[2]) == 0
    return str(where.input[0]) if where.input[1] == value and zero else None


def is_mask_of(editor: GraphEditor, mask: str, kept: str) -> bool:
    """Whether a mask is 0 where `kept` holds, and so low elsewhere that nothing is left."""
    where = editor.producer(mask, "Where")
    if where is None or where.input[0] != kept or editor.scalar(where.input[1]) != 0:
        return False
    low = editor.scalar(where.input[2])
    return low is not None and low <= _MASKED


def factor_of(editor: GraphEditor, node: onnx.NodeProto) -> float | None:
    """Factor that a Mul or Div by a constant applies to its first input; None for other nodes."""
    if node.domain or node.op_type not in ("Mul", "Div"):
        return None
    found = editor.scalar(node.input[1])
    if found is None or not found or not np.isfinite(found):
        return None
    return found if node.op_type == "Mul" else 1 / found


def _product(node: onnx.NodeProto, operator: str, *, left: int = 0, right: int = 0) -> bool:
    """Whether `node` is a product of matrices, the left or the right one transposed."""
    said = [attribute(node, name, 0) for name in ("transA", "transB", "transBatchA", "transBatchB")]
    same_domain = node.domain == (MICROSOFT if operator == "FusedMatMul" else "")
    plain = attribute(node, "alpha", 1.0) == 1.0 and said == [left, right, 0, 0]
    return node.op_type == operator and same_domain and plain


def over_last_axis(editor: GraphEditor, node: onnx.NodeProto) -> bool:
    """Whether a softmax or its gradient is over the last axis."""
    axis = attribute(node, "axis", -1)
    return bool(axis in (-1, (editor.rank(node.input[0]) or editor.rank(node.output[0]) or 0) - 1))

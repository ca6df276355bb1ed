"""The two halves of an attention in a training graph, each with its gradient: scores and mixing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.onnx_io.nodes import attribute, output
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import MICROSOFT

if TYPE_CHECKING:
    import onnx

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
    dropout: float
    """The share of probabilities that is dropped."""
    forward: list[onnx.NodeProto]
    backward: list[onnx.NodeProto]


def mixing_of(editor: GraphEditor, slope: onnx.NodeProto) -> Mixing | None:
    gradient, probabilities = slope.input
    forward: list[onnx.NodeProto] = []
    backward: list[onnx.NodeProto] = []
    kept, dropout, uses = None, 0.0, 3
    again = _next(editor, probabilities, slope)
    if again is not None and again.op_type == "Where":
        before = editor.alone(gradient, "Where")
        kept = _kept(editor, again, probabilities)
        if before is None or kept is None or _kept(editor, before, before.input[1]) != kept:
            return None
        forward.append(again)
        backward.append(before)
        probabilities, gradient, uses = again.output[0], before.input[1], 2
    drops = _next(editor, probabilities, slope)
    if drops is not None and drops.op_type == "Dropout":
        share, before = _dropped(editor, drops), editor.producers.get(gradient)
        if before is None or share is None or not _undoes(editor, before, drops):
            return None
        dropout = share
        forward.append(drops)
        backward.append(before)
        probabilities, gradient, uses = drops.output[0], before.input[0], 2
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
    backward += [of_values, slopes]
    return Mixing(product, of_values, upstream, kept, dropout, forward, backward)


def _next(editor: GraphEditor, value: str, beside: onnx.NodeProto) -> onnx.NodeProto | None:
    """The only node that reads a value, other than `beside`."""
    readers = editor.readers(value)
    others = [node for node in readers if node is not beside]
    alone = len(others) == 1 and editor.uses[value] == len(readers)
    return others[0] if alone else None


def _dropped(editor: GraphEditor, node: onnx.NodeProto) -> float | None:
    """The share that a Dropout drops, whose mask nothing but its gradient reads."""
    if len(node.input) < 3 or editor.scalar(node.input[2]) != 1:
        return None
    share, mask = editor.scalar(node.input[1]), output(node, 1)
    read_once = not mask or (editor.uses[mask] == 1 and mask not in editor.outputs)
    return share if share is not None and 0 <= share < 1 and read_once else None


def _undoes(editor: GraphEditor, node: onnx.NodeProto, drops: onnx.NodeProto) -> bool:
    """Whether a node is the gradient of a Dropout, and nothing else reads what it gives."""
    same = (node.op_type, node.domain) == ("DropoutGrad", MICROSOFT)
    mask = output(drops, 1)
    return same and node.input[1] == mask != "" and editor.uses[node.output[0]] == 1


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


def narrow_mask(editor: GraphEditor, mask: str, name: str) -> tuple[str, list[onnx.NodeProto]]:
    """A mask of two numbers before it is repeated for each query, which the kernel does itself.

    Args:
        mask: what is added to scores.
        name: of the value that is made.

    Returns:
        The mask to read, and the nodes that compute it; the same and none where it is not repeated.
    """
    from onnx import helper

    where = editor.producer(mask, "Where")
    repeated = None if where is None else editor.producer(where.input[0], "Expand")
    if where is None or repeated is None:
        return mask, []
    if any(editor.shape(number) not in ((), (1,)) for number in where.input[1:]):
        return mask, []
    before, after = editor.named_shape(repeated.input[0]), editor.named_shape(mask)
    if before is None or after is None or len(before) > len(after):
        return mask, []
    if not all(size in (1, other) for size, other in zip(before[::-1], after[::-1], strict=False)):
        return mask, []
    given = [repeated.input[0], *where.input[1:]]
    return name, [helper.make_node("Where", given, [name], name)]


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

"""Puts the workbench's kernels of attention into a training graph: no probabilities are stored.

What becomes one is found from the graph: the gradient of a softmax over the last axis, what it is
between, and the products before and after both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import MICROSOFT
from workbench.ort.graph.kernels.attention_parts import (
    factor_of,
    is_mask_of,
    mixing_of,
    narrow_mask,
    over_last_axis,
    past_copies,
    scores_of,
)
from workbench.ort.graph.kernels.step_seed import StepSeed

if TYPE_CHECKING:
    import onnx

_LARGEST_RANK = 9
"""Each axis is one digit in the kernel's attributes."""


def write_attention_kernels(
    model: onnx.ModelProto, domain: str, inferred: Sequence[onnx.ValueInfoProto]
) -> dict[str, str]:
    """Replace attention and its gradient, each by one kernel, in place.

    Scores may be scaled, and a mask that needs no gradient be added to them; the probabilities may
    be masked again, by the same mask, and then be dropped at random. Transposes and factors of what
    goes in and comes out belong to the kernel.

    Args:
        model: both passes, as ONNX Runtime builds them.
        domain: of the kernels.
        inferred: types of values that the graph does not state, as of scaled scores.

    Returns:
        First output of each new node -> first output of the node that it replaced.
    """
    editor = GraphEditor(model.graph, inferred)
    replaced: dict[str, str] = {}
    seed = StepSeed(editor)
    order = {id(node): place for place, node in enumerate(editor.nodes)}
    for node in editor.nodes:
        if node.op_type != "SoftmaxGrad_13" or node.domain != MICROSOFT:
            continue
        found = _matched(editor, node)
        if found is not None:
            *before, forward, backward = found.nodes(editor, domain, seed)
            first = min(found.backward, key=lambda each: order[id(each)])
            editor.replace(found.forward, [*before, forward], at=found.mixing)
            editor.replace(found.backward, [backward], at=first)
            replaced |= {each.output[0]: each.output[0] for each in (forward, backward)}
    if replaced:
        replaced |= seed.finish()
        editor.finish(model, "attention kernels")
    return replaced


@dataclass
class _Tensor:
    """One of Q, K, V and the result, with its gradient, as the kernel reads or writes them."""

    value: str
    gradient: str
    axes: list[int]
    """Which axis of `value` is each of heads..., position, channel."""
    scale: float = 1.0
    forward: list[onnx.NodeProto] = field(default_factory=list)
    backward: list[onnx.NodeProto] = field(default_factory=list)
    """Nodes that belong to the kernel."""


@dataclass
class _Attention:
    """Inputs and outputs of one attention, and the nodes that it consists of."""

    query: _Tensor
    key: _Tensor
    values: _Tensor
    result: _Tensor
    mask: str
    scale: float
    empty_rows: bool
    """Whether a query whose keys are all masked gets zeros."""
    dropout: float
    """The share of probabilities that is dropped."""
    mixing: onnx.NodeProto
    """The product of probabilities and V."""
    forward: list[onnx.NodeProto]
    backward: list[onnx.NodeProto]

    def nodes(self, editor: GraphEditor, domain: str, seed: StepSeed) -> list[onnx.NodeProto]:
        """Those before both kernels, and the kernels."""
        from onnx import helper

        given = (self.query, self.key, self.values)
        names = ("query_axes", "key_axes", "value_axes", "result_axes")
        texts = ["".join(map(str, each.axes)) for each in (*given, self.result)]
        scale = self.scale * self.query.scale * self.key.scale
        attributes = {
            **dict(zip(names, texts, strict=True)),
            **{"scale": scale, "empty_rows": int(self.empty_rows)},
        }
        made, of_step = self.result.value, editor.integer(0)
        if self.dropout:
            attributes |= {"dropout": self.dropout, "stream": seed.stream(made)}
            of_step = seed.value
        mask, before = narrow_mask(editor, self.mask, f"{made}.mask")
        inputs = [*(each.value for each in given), mask or editor.real(0.0), of_step]
        rows = [f"{made}.largest_scores", f"{made}.inverse_sums"]
        forward = helper.make_node(
            "Attention", inputs, [made, *rows], self.mixing.name or made, domain=domain
        )
        backward = helper.make_node(
            "AttentionGradient",
            [self.result.gradient, *inputs, *rows],
            [each.gradient for each in given],
            self.query.gradient,
            domain=domain,
        )
        for node in (forward, backward):
            node.attribute.extend(helper.make_attribute(*each) for each in attributes.items())
        return [*before, forward, backward]


def _matched(editor: GraphEditor, slope: onnx.NodeProto) -> _Attention | None:
    """The attention to which the gradient `slope` of a softmax belongs."""
    softmax = editor.producer(slope.input[1], "Softmax")
    if softmax is None or not (over_last_axis(editor, softmax) and over_last_axis(editor, slope)):
        return None
    mixing, scores = mixing_of(editor, slope), scores_of(editor, softmax, slope)
    if mixing is None or scores is None:
        return None
    if mixing.kept is not None and not is_mask_of(editor, scores.mask, mixing.kept):
        return None
    (q, k), v = scores.product.input, mixing.product.input[1]
    shapes = [editor.named_shape(each) for each in (q, k, v, scores.product.output[0])]
    rank = len(shapes[0] or ())
    heads = {None if each is None else each[:-2] for each in shapes}
    alike = len(heads) == 1 and None not in heads and 2 <= rank <= _LARGEST_RANK
    if not alike or not all(editor.may_be_float(name) for name in (q, k, v, scores.mask) if name):
        return None
    axes = list(range(rank))
    query = _before(editor, _Tensor(q, scores.of_query.output[0], axes))
    key = _before(editor, _Tensor(k, scores.of_key.output[0], [*axes[:-2], rank - 1, rank - 2]))
    values = _before(editor, _Tensor(v, mixing.of_values.output[0], axes), factors=False)
    result = _after(editor, _Tensor(mixing.product.output[0], mixing.upstream, axes))
    parts = (query, key, values, result)
    forward = [softmax, *mixing.forward, *scores.forward]
    backward = [slope, *mixing.backward, *scores.backward]
    return _Attention(
        *parts,
        scores.mask,
        scores.scale,
        mixing.kept is not None,
        mixing.dropout,
        mixing.product,
        [*forward, *(node for part in parts for node in part.forward)],
        [*backward, *(node for part in parts for node in part.backward)],
    )


def _before(editor: GraphEditor, tensor: _Tensor, *, factors: bool = True) -> _Tensor:
    """An input as it is before transposes and factors, whose gradient undoes them."""
    readers = 2
    while True:
        copies: list[onnx.NodeProto] = []
        gradient = past_copies(editor, tensor.gradient, copies)
        node, reader = editor.producers.get(tensor.value), editor.only_reader(gradient)
        alone = editor.uses[tensor.value] == readers and tensor.value not in editor.outputs
        if node is None or reader is None or not alone:
            return tensor
        factor = factor_of(editor, node) if factors else None
        if _opposite(node, reader):
            order = list(attribute(node, "perm", []))
            tensor.axes = [order[axis] for axis in tensor.axes]
        elif factor is not None and factor == factor_of(editor, reader):
            tensor.scale *= factor
        else:
            return tensor
        tensor.value, tensor.gradient, readers = node.input[0], reader.output[0], 1
        tensor.forward.append(node)
        tensor.backward += [*copies, reader]


def _after(editor: GraphEditor, tensor: _Tensor) -> _Tensor:
    """The result as it is after transposes, whose gradient is before theirs."""
    readers = 2
    while True:
        reader, node = editor.only_reader(tensor.value), editor.producers.get(tensor.gradient)
        if reader is None or node is None or editor.uses[tensor.gradient] != readers:
            return tensor
        if _opposite(reader, node):
            order = list(attribute(reader, "perm", []))
            tensor.axes = [order.index(axis) for axis in tensor.axes]
        elif not (_keeps_shape(editor, reader) and _keeps_shape(editor, node)):
            return tensor
        tensor.value, tensor.gradient, readers = reader.output[0], node.input[0], 1
        tensor.forward.append(reader)
        tensor.backward.append(node)


def _opposite(node: onnx.NodeProto, other: onnx.NodeProto) -> bool:
    """Whether two transposes undo each other."""
    if [node.op_type, other.op_type] != ["Transpose"] * 2:
        return False
    order, back = attribute(node, "perm", []), attribute(other, "perm", [])
    return len(order) > 0 and np.argsort(order).tolist() == list(back)


def _keeps_shape(editor: GraphEditor, node: onnx.NodeProto) -> bool:
    if node.op_type not in ("Reshape", "Identity") or node.domain:
        return False
    shape = editor.named_shape(node.input[0])
    return shape is not None and shape == editor.named_shape(node.output[0])

"""Puts the workbench's kernels of RMSNorm into a training graph, where it is written in its parts.

x / √(average(x²) + epsilon), times a weight: as `torch.nn.RMSNorm` and the layers of transformers
are exported. The gradient is found by what it reads and leads to; see `backward_region`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import GRADIENT
from workbench.ort.graph.kernels.backward_region import BackwardRegion, backward_region

if TYPE_CHECKING:
    import onnx


def write_rms_normalization_kernels(
    model: onnx.ModelProto, domain: str, inferred: Sequence[onnx.ValueInfoProto]
) -> dict[str, str]:
    """Replace each RMSNorm and its gradient, by one kernel each, in place.

    One whose input needs no gradient stays as it is.

    Args:
        model: both passes, as ONNX Runtime builds them.
        domain: of the kernels.
        inferred: types of values that the graph does not state, as of products.

    Returns:
        First output of each new node -> first output of the node that it replaced.
    """
    editor = GraphEditor(model.graph, inferred)
    replaced: dict[str, str] = {}
    for node in editor.nodes:
        found = _matched(editor, node) if node.op_type == "ReduceMean" else None
        if found is None:
            continue
        region = backward_region(
            editor, found.nodes, found.result, [found.data, *filter(None, [found.weight])]
        )
        if region is not None and _differentiates(editor, found, region):
            replaced |= _replace(editor, found, region, domain)
    if replaced:
        editor.finish(model, "RMS normalization kernels")
    return replaced


class _Normalization(NamedTuple):
    """One RMSNorm of the forward pass."""

    data: str
    weight: str
    """Empty where it has none."""
    result: str
    axis: int
    """The first one of the average, counted from the last."""
    epsilon: float
    nodes: list[onnx.NodeProto]


def _matched(editor: GraphEditor, mean: onnx.NodeProto) -> _Normalization | None:
    """The RMSNorm whose average is `mean`."""
    square = editor.producer(mean.input[0], "Pow", "Mul")
    if square is None or not _is_square(editor, square):
        return None
    data = square.input[0]
    shape, axis = editor.shape(data), _first_axis(editor, mean, editor.rank(data))
    added = _reader(editor, mean.output[0], "Add")
    if shape is None or axis is None or added is None or not editor.may_be_float(data):
        return None
    epsilon = editor.scalar(_other(added, mean.output[0]))
    normalized = _divided(editor, data, added.output[0])
    if epsilon is None or normalized is None:
        return None
    nodes, result = [square, mean, added, *normalized], normalized[-1].output[0]
    for scaled in editor.readers(result):
        weight = _other(scaled, result)
        if (scaled.op_type, scaled.domain) == ("Mul", "") and editor.shape(weight) == shape[axis:]:
            if None in shape[axis:] or not editor.may_be_float(weight):
                return None
            nodes.append(scaled)
            return _Normalization(data, weight, scaled.output[0], axis, epsilon, nodes)
    return None if None in shape[axis:] else _Normalization(data, "", result, axis, epsilon, nodes)


def _is_square(editor: GraphEditor, node: onnx.NodeProto) -> bool:
    if node.op_type == "Mul":
        return bool(node.input[0] == node.input[1])
    return editor.scalar(node.input[1]) == 2.0


def _first_axis(editor: GraphEditor, mean: onnx.NodeProto, rank: int | None) -> int | None:
    """The first of the last axes, not of all, that `mean` averages over; counted from the last."""
    given = editor.constant(mean.input[1]) if len(mean.input) > 1 else None
    axes = attribute(mean, "axes", None) if given is None else given.ravel().tolist()
    if not axes or rank is None or not attribute(mean, "keepdims", 1):
        return None
    count = len(axes)
    last = sorted(axis % rank for axis in axes) == list(range(rank - count, rank))
    return -count if last and count < rank else None


def _divided(editor: GraphEditor, data: str, sum_: str) -> list[onnx.NodeProto] | None:
    """The nodes that divide `data` by the root of `sum_`."""
    root = _reader(editor, sum_, "Sqrt")
    if root is None:
        return None
    divided = _reader(editor, root.output[0], "Div", of=data)
    if divided is not None and list(divided.input) == [data, root.output[0]]:
        return [root, divided]
    inverse = _reader(editor, root.output[0], "Reciprocal")
    if inverse is None:
        inverse = next(
            (
                node
                for node in editor.readers(root.output[0])
                if node.op_type == "Div" and editor.scalar(node.input[0]) == 1.0
            ),
            None,
        )
    if inverse is None:
        return None
    product = _reader(editor, inverse.output[0], "Mul", of=data)
    return None if product is None else [root, inverse, product]


def _reader(editor: GraphEditor, name: str, op: str, of: str = "") -> onnx.NodeProto | None:
    """The first node that reads a value, among those of an operator; and reads `of` too."""
    for node in editor.readers(name):
        if (node.op_type, node.domain) == (op, "") and (not of or of in node.input):
            return node
    return None


def _other(node: onnx.NodeProto, name: str) -> str:
    """The input of a node of two that is not `name`; empty if it has another number of them."""
    others = [each for each in node.input if each != name]
    return others[0] if len(node.input) == 2 and len(others) == 1 else ""


def _differentiates(editor: GraphEditor, found: _Normalization, region: BackwardRegion) -> bool:
    """Whether the region is the whole gradient: all parts of that of the data meet in one sum."""
    parts = region.results[found.data]
    sums = [editor.only_reader(name) for name in parts]
    met = bool(sums) and all(
        each is not None and each.op_type == "Sum" and each is sums[0] for each in sums
    )
    return met and len(region.results.get(found.weight, [])) <= 1


def _replace(
    editor: GraphEditor, found: _Normalization, region: BackwardRegion, domain: str
) -> dict[str, str]:
    from onnx import helper

    result, inverse = found.result, f"{found.result}.inverse"
    shape = editor.shape(found.data) or ()
    weight = found.weight or editor.ones([size or 0 for size in shape[found.axis :]])
    forward = helper.make_node(
        *("RMSNormalization", [found.data, weight], [result, inverse]),
        name=found.nodes[-1].name or result,
        domain=domain,
        axis=found.axis,
        epsilon=found.epsilon,
    )
    of_data, *rest = region.results[found.data]
    of_weight = region.results.get(found.weight) or [f"{result}.weight{GRADIENT}"]
    backward = helper.make_node(
        "RMSNormalizationGradient",
        [result + GRADIENT, found.data, weight, inverse],
        [of_data, *of_weight],
        of_data,
        domain=domain,
        axis=found.axis,
    )
    total = editor.readers(of_data)[0]
    kept = [name for name in total.input if name not in rest]
    del total.input[:]
    total.input.extend(kept)
    editor.replace(found.nodes, [forward])
    editor.replace(region.nodes, [backward], at=region.first)
    return {result: result, of_data: of_data}

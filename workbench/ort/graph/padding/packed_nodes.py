"""Converts single nodes to rows of kept tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from onnx import helper

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.padding.elementwise import ELEMENTWISE
from workbench.ort.graph.padding.graph_values import GraphValues
from workbench.ort.graph.padding.kept_tokens import KeptTokens
from workbench.ort.graph.padding.layout import Tracked
from workbench.ort.graph.padding.proof import Proof

if TYPE_CHECKING:
    import onnx


class PackedRows(Protocol):
    """Access to the rows of kept tokens of other values; see `Packing`."""

    values: GraphValues
    proof: Proof
    tokens: KeptTokens

    def packed(self, name: str) -> str: ...
    def set_packed(self, name: str, rows: str) -> None: ...
    def layout(self, name: str) -> Tracked | None: ...
    def row_shape(self, layout: Tracked) -> list[int]: ...
    def declare(self, name: str, like: str, row: list[int]) -> str: ...
    def picked(self, name: str, rows: str, row: list[int]) -> str: ...


_SAME_ROWS = frozenset({"Reshape", "Squeeze", "Unsqueeze"})
_ALONG_AXIS = frozenset({"LayerNormalization", "LogSoftmax", "Softmax", "Split"})
_REDUCTIONS = frozenset({"ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"})


def packed_node(node: onnx.NodeProto, rows: PackedRows) -> list[onnx.NodeProto] | None:
    """Nodes that compute the kept tokens' rows of the outputs of `node`; None: not packable."""
    layout = rows.layout(node.output[0])
    assert layout is not None
    op = node.op_type
    inputs: list[str] | None
    if node.output[0] in rows.proof.seeds:
        inputs = _seed_inputs(node, rows)
    elif op in _SAME_ROWS:
        return _reshaped(node, layout, rows)
    elif op == "Transpose":
        return _transposed(node, layout, rows)
    elif op in ELEMENTWISE and op != "Expand":
        inputs = _aligned_inputs(node, layout, rows)
    elif op in _ALONG_AXIS or op in _REDUCTIONS or op == "Gemm":
        inputs = _first_input(node, rows)
    elif op == "MatMul":
        matrix = rows.values.shape(node.input[1])
        inputs = _first_input(node, rows) if matrix is not None and len(matrix) == 2 else None
    else:
        inputs = None
    if inputs is None:
        return None
    made = _copied(node, inputs, rows)
    return [made] if _count_from_the_end(made, node, rows) else None


def _seed_inputs(node: onnx.NodeProto, rows: PackedRows) -> list[str]:
    place = 1 if node.op_type == "Gather" else 0
    inputs = list(node.input)
    shape = rows.values.shape(inputs[place]) or ()
    own = [size for size in shape[2:] if isinstance(size, int)]
    inputs[place] = rows.picked(inputs[place], rows.tokens.rows, own)
    return inputs


def _first_input(node: onnx.NodeProto, rows: PackedRows) -> list[str] | None:
    if rows.layout(node.input[0]) is None:
        return None
    return [rows.packed(node.input[0]), *node.input[1:]]


def _aligned_inputs(node: onnx.NodeProto, layout: Tracked, rows: PackedRows) -> list[str] | None:
    """Each input with batch or tokens as rows; inputs that are equal for all tokens unchanged."""
    assert layout.lead is not None
    rank, count = len(layout.axes), layout.lead[1]
    plan: list[tuple[str, str, list[int]] | str | None] = []
    for place, name in enumerate(node.input):
        shape = rows.values.shape(name) if name else ()
        if shape is None:
            return None
        if (node.op_type == "Dropout" and place) or len(shape) <= rank - count:
            plan.append(name)
        elif rows.layout(name) is not None or _is_arbitrary(name, rows):
            found = rows.layout(name)
            if found is None or found.lead != layout.lead or len(found.axes) != rank:
                return None
            plan.append(None)
        else:
            found_rows = _clean_rows(name, layout, rows)
            if found_rows is None:
                return None
            plan.append(found_rows)
    inputs = []
    for name, each in zip(node.input, plan, strict=True):
        if each is None:
            inputs.append(rows.packed(name))
        elif isinstance(each, str):
            inputs.append(each)
        else:
            _, kind, row = each
            inputs.append(rows.picked(name, _index(kind, layout.lead[0], rows), row))
    return inputs


def _index(kind: str, order: str, rows: PackedRows) -> str:
    """The index that selects rows of a value with batch and token axes, one of them, or neither."""
    if kind == "all":
        return rows.tokens.indices(order)[0]
    return rows.tokens.part(kind) if kind else ""


def _is_arbitrary(name: str, rows: PackedRows) -> bool:
    found = rows.proof.tracked.get(name)
    return found is not None and bool(found.arbitrary)


def _clean_rows(name: str, layout: Tracked, rows: PackedRows) -> tuple[str, str, list[int]] | None:
    """How the rows of a value without arbitrary numbers, broadcast to `layout`, are selected."""
    assert layout.lead is not None
    order, count = layout.lead
    shape = rows.values.shape(name)
    assert shape is not None
    padded = (1,) * (len(layout.axes) - len(shape)) + shape
    row = [size for size in padded[count:] if isinstance(size, int)]
    if len(row) != len(padded) - count:
        return None
    if all(size == 1 for size in padded[:count]):
        return name, "", row
    if count == 1:
        return name, "all", row
    sizes = [rows.proof.mask.sizes.of(factor) for factor in order]
    kinds = {(True, True): "all", (True, False): order[0], (False, True): order[1]}
    known = [size in (1, whole) for size, whole in zip(padded, sizes, strict=False)]
    if not all(known):
        return None
    return name, kinds[padded[0] != 1, padded[1] != 1], row


def _reshaped(
    node: onnx.NodeProto, layout: Tracked, rows: PackedRows
) -> list[onnx.NodeProto] | None:
    before = rows.layout(node.input[0])
    if before is None or before.lead is None or layout.lead is None:
        return None
    if before.lead[0] != layout.lead[0]:
        return None
    packed, row = rows.packed(node.input[0]), rows.row_shape(layout)
    if row == rows.row_shape(before):
        rows.set_packed(node.output[0], packed)
        return []
    made = f"{node.output[0]}.kept"
    rows.set_packed(node.output[0], rows.declare(made, node.input[0], row))
    shape = rows.tokens.integers([-1, *row])
    return [helper.make_node("Reshape", [packed, shape], [made], made)]


def _transposed(
    node: onnx.NodeProto, layout: Tracked, rows: PackedRows
) -> list[onnx.NodeProto] | None:
    before = rows.layout(node.input[0])
    if before is None or before.lead is None or layout.lead is None:
        return None
    order = list(attribute(node, "perm", list(range(len(layout.axes)))[::-1]))
    count = before.lead[1]
    own = [axis - count + 1 for axis in order[layout.lead[1] :]]
    if any(axis < 1 for axis in own):
        return None
    packed = rows.packed(node.input[0])
    if own == sorted(own):
        rows.set_packed(node.output[0], packed)
        return []
    made = _copied(node, [packed], rows)
    del made.attribute[:]
    made.attribute.append(helper.make_attribute("perm", [0, *own]))
    return [made]


def _copied(node: onnx.NodeProto, inputs: list[str], rows: PackedRows) -> onnx.NodeProto:
    made = type(node)()
    made.CopyFrom(node)
    del made.input[:], made.output[:]
    made.input.extend(inputs)
    for name in node.output:
        layout = rows.layout(name) if name else None
        if layout is None:
            made.output.append(name)
            continue
        kept = rows.declare(f"{name}.kept", name, rows.row_shape(layout))
        rows.set_packed(name, kept)
        made.output.append(kept)
    return made


def _count_from_the_end(made: onnx.NodeProto, node: onnx.NodeProto, rows: PackedRows) -> bool:
    """Count axes from the last, as rows have fewer before it; False if they are not constant."""
    layout = rows.layout(node.input[0])
    if node.op_type in _ALONG_AXIS and layout is not None:
        rank = len(layout.axes)
        default = 0 if node.op_type == "Split" else -1
        axis = attribute(node, "axis", default) % rank - rank
        kept = [each for each in made.attribute if each.name != "axis"]
        del made.attribute[:]
        made.attribute.extend([*kept, helper.make_attribute("axis", axis)])
    if node.op_type in _REDUCTIONS and layout is not None:
        rank = len(layout.axes)
        axes = rows.values.axes(node, rank)
        if axes is None or len(node.input) < 2:
            return False
        made.input[1] = rows.tokens.integers([axis - rank for axis in axes])
    return True

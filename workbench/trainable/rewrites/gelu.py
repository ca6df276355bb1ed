"""The tanh form of Gelu, with its own gradient."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.differentiable import MICROSOFT
from workbench.trainable.rewrite import GraphEdit, Rewrite

_TOLERANCE = 1e-4
"""Relative tolerance of constants: people write √(2/π) with some digits."""


class TanhGeluToFastGelu(Rewrite):
    """Writes Gelu(approximate="tanh") as FastGelu, which is the same function.

    ONNX Runtime's gradient of either form of Gelu is that of the exact form.
    Precondition: the node is of the tanh form, and its input has an axis, which FastGelu needs.
    """

    op: ClassVar[str] = "Gelu"
    note: ClassVar[str] = "written as FastGelu, whose gradient is that of the tanh form"

    def applies(self, node: ir.Node) -> bool:
        form = node.attributes.get("approximate")
        shape = None if node.inputs[0] is None else node.inputs[0].shape
        has_axis = shape is None or len(shape) > 0
        return form is not None and form.as_string() == "tanh" and has_axis

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        edit.use_domain(MICROSOFT)
        gelu = ir.node("FastGelu", [node.inputs[0]], domain=MICROSOFT, name=node.name)
        edit.replace([node], [gelu], {node.outputs[0]: gelu.outputs[0]})


class DecomposedGeluToFastGelu(Rewrite):
    """Writes 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), operator by operator, as FastGelu.

    So transformers' GPT-2 has it. Terms and factors may come in any order.
    Precondition: nothing else reads the values between, and x is float32 and has an axis.
    """

    op: ClassVar[str] = "Tanh"
    note: ClassVar[str] = "written, with the nodes around it, as FastGelu"

    @override
    def applies(self, node: ir.Node) -> bool:
        return _decomposed(node) is not None

    @override
    def group(self, node: ir.Node) -> list[ir.Node]:
        found = _decomposed(node)
        return [node] if found is None else found.nodes

    @override
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        found = _decomposed(node)
        assert found is not None
        edit.use_domain(MICROSOFT)
        last = found.nodes[-1]
        gelu = ir.node("FastGelu", [found.x], domain=MICROSOFT, name=last.name)
        places = {node: place for place, node in enumerate(edit.graph)}
        nodes = sorted(found.nodes, key=places.__getitem__)
        given = {value for node in nodes for value in node.inputs}
        edit.replace(nodes, [gelu], {last.outputs[0]: gelu.outputs[0]})
        for value in given:
            # ONNX Runtime warns of each that nothing reads.
            if value is not None and value.is_initializer() and not value.uses():
                edit.graph.initializers.pop(str(value.name))


class _Decomposed(NamedTuple):
    x: ir.Value
    nodes: list[ir.Node]
    """The last gives the result."""


def _decomposed(tanh: ir.Node) -> _Decomposed | None:
    """The GELU around a Tanh."""
    inner = _of(tanh.inputs[0], "Mul", math.sqrt(2 / math.pi))
    raised = _reader(tanh.outputs[0], "Add", 1.0)
    if inner is None or raised is None:
        return None
    last = _only_reader(raised.outputs[0])
    if last is None or last.op_type != "Mul" or last.domain:
        return None
    half = _of(_beside(last, raised.outputs[0]), "Mul", 0.5)
    added = None if inner.rest is None else _alone(inner.rest, "Add")
    if half is None or half.rest is None or added is None:
        return None
    x = half.rest
    cubic = _of(_beside(added, x), "Mul", 0.044715)
    cube = None if cubic is None or cubic.rest is None else _alone(cubic.rest, "Pow")
    if cubic is None or cube is None or cube.inputs[0] is not x or _number(cube.inputs[1]) != 3:
        return None
    if x.dtype != ir.DataType.FLOAT or not x.shape:
        return None
    return _Decomposed(x, [cube, cubic.node, added, inner.node, tanh, raised, half.node, last])


class _Factor(NamedTuple):
    node: ir.Node
    rest: ir.Value | None
    """What is multiplied by a number."""


def _of(value: ir.Value | None, op: str, number: float) -> _Factor | None:
    """The node that gives a value which is read once, of `op` and that number."""
    node = None if value is None else _alone(value, op)
    place = None if node is None else _place(node, number)
    if node is None or place is None:
        return None
    return _Factor(node, node.inputs[1 - place])


def _alone(value: ir.Value, op: str) -> ir.Node | None:
    node = value.producer()
    once = len(value.uses()) == 1 and not value.is_graph_output()
    known = node is not None and node.op_type == op and not node.domain
    return node if once and known else None


def _reader(value: ir.Value, op: str, number: float) -> ir.Node | None:
    node = _only_reader(value)
    known = node is not None and node.op_type == op and not node.domain
    return node if node is not None and known and _place(node, number) is not None else None


def _only_reader(value: ir.Value) -> ir.Node | None:
    readers = [use.node for use in value.uses()]
    return readers[0] if len(readers) == 1 and not value.is_graph_output() else None


def _place(node: ir.Node, number: float) -> int | None:
    """Which input of a binary node is that number."""
    for place, value in enumerate(node.inputs):
        found = _number(value)
        if found is not None and abs(found - number) <= _TOLERANCE * number:
            return place
    return None


def _beside(node: ir.Node, value: ir.Value) -> ir.Value | None:
    """The other input of a binary node that reads `value`; None if it does not."""
    one, other = node.inputs
    return other if one is value else one if other is value else None


def _number(value: ir.Value | None) -> float | None:
    tensor = None if value is None else value.const_value
    return float(tensor.numpy().item()) if tensor is not None and tensor.size == 1 else None

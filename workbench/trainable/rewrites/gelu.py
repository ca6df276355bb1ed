"""The tanh form of Gelu, with its own gradient."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.differentiable import MICROSOFT
from workbench.trainable.polynomial import Coefficients, Polynomial, number
from workbench.trainable.rewrite import GraphEdit, Rewrite

_TOLERANCE = 1e-4
"""Relative tolerance of constants: people write √(2/π) with some digits."""

_OUTER: Coefficients = {1: 0.5}
_INNER: Coefficients = {1: math.sqrt(2 / math.pi), 3: 0.044715 * math.sqrt(2 / math.pi)}
"""Polynomials of x by which 1 + tanh is multiplied, and of which tanh is taken."""


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

    So transformers' GPT-2 has it, and with x (1 + 0.044715 x x) in the tanh its BLOOM and
    `gelu_fast`. The factors, and the polynomial, may be written in any way.
    Precondition: nothing else reads the values between, x is float32 and has an axis, and no number
    is a parameter or a buffer, which may change.
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
    raised = _only_reader(tanh.outputs[0], "Add")
    one = None if raised is None else number(_beside(raised, tanh.outputs[0]))
    if raised is None or one is None or not _same({0: one}, {0: 1.0}):
        return None
    nodes, factors = [tanh, raised], list[ir.Value | None]()
    while (last := _only_reader(nodes[-1].outputs[0], "Mul")) is not None:
        factors.append(_beside(last, nodes[-1].outputs[0]))
        nodes.append(last)
        for x in _arguments(factors):
            read = Polynomial(x)
            if _same(read.product(factors), _OUTER) and _same(read.of(tanh.inputs[0]), _INNER):
                found = [*read.nodes, *nodes]
                return _Decomposed(x, found) if _usable(x, found) else None
    return None


def _arguments(factors: Sequence[ir.Value | None]) -> Iterator[ir.Value]:
    """What the GELU may be of: a factor, or what one multiplies or divides."""
    for value in filter(None, factors):
        yield value
        node = value.producer()
        if node is not None and node.op_type in ("Mul", "Div") and not node.domain:
            yield from filter(None, node.inputs)


def _usable(x: ir.Value, nodes: Sequence[ir.Node]) -> bool:
    """Whether `nodes`, of which the last gives the result, may become a FastGelu of `x`."""
    between = [node.outputs[0] for node in nodes[:-1]]
    alone = not any(
        value.is_graph_output() or any(use.node not in nodes for use in value.uses())
        for value in between
    )
    shape = nodes[-1].outputs[0].shape
    return alone and x.dtype == ir.DataType.FLOAT and bool(x.shape) and shape in (None, x.shape)


def _only_reader(value: ir.Value, op: str) -> ir.Node | None:
    """The only node that reads a value, once, if it is of `op`."""
    readers = [use.node for use in value.uses()]
    alone = len(readers) == 1 and not value.is_graph_output()
    return readers[0] if alone and (readers[0].op_type, readers[0].domain) == (op, "") else None


def _beside(node: ir.Node, value: ir.Value) -> ir.Value | None:
    """The other input of a binary node that reads `value`."""
    one, other = node.inputs
    return other if one is value else one


def _same(found: Coefficients | None, known: Coefficients) -> bool:
    if found is None or found.keys() != known.keys():
        return False
    return all(math.isclose(found[each], known[each], rel_tol=_TOLERANCE) for each in known)

"""The gradient of scattering with a reduction, which ONNX Runtime's ignores."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import onnx
import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient

_REDUCTIONS = {"add", "mul", "max", "min"}


class ScatterElementsGradient(CustomGradient):
    """With D the data, U the updates and R the reduction of both at each place:

    - add: dD = dR, and dU is gathered from dR.
    - mul: as add, times the product of everything else that was multiplied there.
    - max and min: as add, where an element is the result, and divided evenly among those.
    """

    op: ClassVar[str] = "ScatterElements"
    note: ClassVar[str] = "given the workbench's gradient, where ONNX Runtime's is wrong"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        return _reduction(node) in _REDUCTIONS

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        reduction = _reduction(node)
        places = {"axis": node.attributes["axis"].as_int()} if "axis" in node.attributes else {}
        scatter = _Scatter(graph, places)
        if reduction == "add":
            results = {0: graph.gradient()}
            if 2 in inputs_requiring_grad:
                results[2] = scatter.read(graph.gradient())
        elif reduction == "mul":
            results = _product(scatter, inputs_requiring_grad)
        else:
            results = _extreme(scatter, inputs_requiring_grad)
        return {index: results[index] for index in inputs_requiring_grad}


class _Scatter:
    """Writes to and reads from the places of a node."""

    def __init__(self, graph: BackwardGraph, attributes: Mapping[str, Any]) -> None:
        self.graph = graph
        self._attributes = attributes

    def read(self, value: str) -> str:
        return self.graph.node("GatherElements", value, self.graph.input(1), **self._attributes)

    def write(self, data: str, updates: str, reduction: str) -> str:
        inputs = (data, self.graph.input(1), updates)
        return self.graph.node("ScatterElements", *inputs, reduction=reduction, **self._attributes)


def _product(scatter: _Scatter, inputs_requiring_grad: Collection[int]) -> dict[int, str]:
    graph = scatter.graph
    one, none = graph.constant(1), graph.constant(0)
    zero, nonzero = {}, {}
    for index in (0, 2):
        is_zero = graph.node("Equal", graph.input(index), none)
        zero[index] = graph.node("Cast", is_zero, to=onnx.TensorProto.FLOAT)
        nonzero[index] = graph.node("Where", is_zero, one, graph.input(index))
    zeros = scatter.write(zero[0], zero[2], "add")
    product = scatter.write(nonzero[0], nonzero[2], "mul")
    spread = graph.node("Mul", graph.gradient(), product)
    results = {}
    for index in inputs_requiring_grad:
        here = (lambda value: value) if index == 0 else scatter.read
        others = graph.node("Sub", here(zeros), zero[index])
        gradient = graph.node("Div", here(spread), nonzero[index])
        results[index] = graph.node("Where", graph.node("Equal", others, none), gradient, none)
    return results


def _extreme(scatter: _Scatter, inputs_requiring_grad: Collection[int]) -> dict[int, str]:
    graph = scatter.graph
    found = {}
    for index, result in ((0, graph.output()), (2, scatter.read(graph.output()))):
        equal = graph.node("Equal", graph.input(index), result)
        found[index] = graph.node("Cast", equal, to=onnx.TensorProto.FLOAT)
    share = graph.node("Div", graph.gradient(), scatter.write(found[0], found[2], "add"))
    shares = {0: share}
    if 2 in inputs_requiring_grad:
        shares[2] = scatter.read(share)
    return {
        index: graph.node("Mul", found[index], shares[index]) for index in inputs_requiring_grad
    }


def _reduction(node: ir.Node) -> str:
    attribute = node.attributes.get("reduction")
    return "none" if attribute is None else attribute.as_string()

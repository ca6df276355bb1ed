"""The gradient of the simple recurrent network."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import numpy as np
import onnx
import onnx_ir as ir
from onnx import TensorProto, helper, numpy_helper
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient
from workbench.trainable.rewrites.recurrence import is_plain


class RNNGradient(CustomGradient):
    """For h_t = f(W x_t + R h_(t-1) + b), from the last step to the first:

    d_t = f'(h_t) (dY_t + R' d_(t+1)). Then dW, dR, dX and db are products with the d of all steps.

    Precondition: as the rewrite leaves it, in the forward direction with an initial state; only
    its states of all steps are used.
    """

    op: ClassVar[str] = "RNN"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        last = node.outputs[1] if len(node.outputs) > 1 else None
        return (
            is_plain(node)
            and node.attributes.get_string("direction", "forward") == "forward"
            and len(node.inputs) > 5
            and node.inputs[5] is not None
            and not (last is not None and (last.uses() or last.is_graph_output()))
        )

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        activation = (node.attributes.get_strings("activations", ()) or ("Tanh",))[0]
        first, second = graph.indices([0]), graph.indices([1])
        weights = graph.node("Squeeze", graph.input(1), first)
        recurrent = graph.node("Squeeze", graph.input(2), first)
        states = graph.node("Squeeze", graph.output(), second)
        gradient = graph.node("Squeeze", graph.gradient(), second)
        initial = graph.input(5)
        none = graph.node("Mul", graph.node("Squeeze", initial, first), graph.constant(0))
        _, before, steps = graph.nodes(
            "Scan",
            recurrent,
            none,
            gradient,
            states,
            outputs=3,
            body=_step(activation),
            num_scan_inputs=2,
            scan_input_directions=[1, 1],
            scan_output_directions=[1],
        )
        results = {}
        if 0 in inputs_requiring_grad:
            results[0] = graph.node("MatMul", steps, weights)
        if 1 in inputs_requiring_grad:
            results[1] = _product(steps, graph.input(0), graph)
        if 2 in inputs_requiring_grad:
            earlier = graph.node("Slice", states, first, graph.indices([-1]), first)
            previous = graph.node("Concat", initial, earlier, axis=0)
            results[2] = _product(steps, previous, graph)
        if 3 in inputs_requiring_grad:
            summed = graph.node("ReduceSum", steps, graph.indices([0, 1]), keepdims=0)
            both = graph.node("Concat", summed, summed, axis=0)
            results[3] = graph.node("Unsqueeze", both, first)
        if 5 in inputs_requiring_grad:
            results[5] = graph.node("Unsqueeze", before, first)
        return results


def _product(steps: str, other: str, graph: BackwardGraph) -> str:
    """Sum over steps and batch of the outer products, (1, hidden, features)."""
    flat = [_rows(value, graph) for value in (steps, other)]
    made = graph.node("Gemm", *flat, transA=1)
    return graph.node("Unsqueeze", made, graph.indices([0]))


def _rows(value: str, graph: BackwardGraph) -> str:
    """(length, batch, features) as (length * batch, features)."""
    size = graph.node("Shape", value, start=2)
    return graph.node("Reshape", value, graph.node("Concat", graph.indices([-1]), size, axis=0))


def _step(activation: str) -> onnx.GraphProto:
    """One step back: the recurrent weights, what comes from later; what this step's sum gets."""
    one = numpy_helper.from_array(np.array(1, np.float32), "one")
    if activation == "Relu":
        slope = [
            helper.make_node("Sign", ["state"], ["slope"]),
        ]
    else:
        slope = [
            helper.make_node("Mul", ["state", "state"], ["square"]),
            helper.make_node("Sub", ["one", "square"], ["slope"]),
        ]
    nodes = [
        *slope,
        helper.make_node("Add", ["gradient", "later"], ["due"]),
        helper.make_node("Mul", ["due", "slope"], ["step"]),
        helper.make_node("MatMul", ["step", "recurrent"], ["earlier"]),
        helper.make_node("Identity", ["recurrent"], ["same"]),
        helper.make_node("Identity", ["step"], ["kept"]),
    ]

    def values(*names: str) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]

    return helper.make_graph(
        nodes,
        "rnn_step_back",
        values("recurrent", "later", "gradient", "state"),
        values("same", "earlier", "kept"),
        [one],
    )

"""Recomputation in the backward pass: the same results, with fewer kept bytes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from workbench.ort.graph.memory.recompute import recompute_in_backward
from workbench.ort.graph.node_statistics import forward_nodes

ROWS, WIDTH = 5, 4


def node(op: str, inputs: str, outputs: str, **attributes: object) -> onnx.NodeProto:
    found = outputs.split()
    return helper.make_node(op, inputs.split(), found, found[0], **attributes)


def both_passes(*extra: onnx.NodeProto) -> onnx.ModelProto:
    """A GELU between two products, and gradients that stand for those of ONNX Runtime.

    The product that reads the GELU in the backward pass comes before the GELU's gradient, as
    gradients of weights do where the file has them first.
    """
    nodes = [
        node("MatMul", "x w", "h"),
        node("Gelu", "h", "y"),
        node("MatMul", "y v", "z"),
        node("ReduceSum", "z", "loss", keepdims=0),
        node("Transpose", "v", "v_t"),
        node("Transpose", "y", "y_t"),
        node("MatMul", "y_t z", "v_grad"),
        node("MatMul", "z v_t", "y_grad"),
        *extra,
        node("Mul", "y_grad h", "h_grad"),
        node("Transpose", "x", "x_t"),
        node("MatMul", "x_t h_grad", "w_grad"),
    ]

    def value(name: str, *shape: str | int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        nodes,
        "both",
        [value("x", "rows", WIDTH), value("w", WIDTH, WIDTH), value("v", WIDTH, WIDTH)],
        [value("loss"), value("v_grad", WIDTH, WIDTH), value("w_grad", WIDTH, WIDTH)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def results(model: onnx.ModelProto) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    shapes = {"x": (ROWS, WIDTH), "w": (WIDTH, WIDTH), "v": (WIDTH, WIDTH)}
    feeds = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return [np.asarray(found) for found in ReferenceEvaluator(model).run(None, feeds)]


def read_in_backward(model: onnx.ModelProto) -> set[str]:
    forward = forward_nodes(model.graph, ["loss"])
    return {
        name for i, each in enumerate(model.graph.node) if i not in forward for name in each.input
    }


def test_the_backward_pass_computes_a_gelu_again_with_the_same_bits() -> None:
    model = both_passes()
    before = results(model)
    made = recompute_in_backward(model, "loss")
    assert list(made) == ["y.shape_again", "y.source_again", "y.again"]
    assert set(made.values()) == {"y_t"}, "the transposition that reads it"
    onnx.checker.check_model(model)
    for one, other in zip(before, results(model), strict=True):
        assert np.array_equal(one, other)
    assert "y" not in read_in_backward(model)
    waits_for = next(each for each in model.graph.node if each.output[0] == "y.shape_again")
    assert list(waits_for.input) == ["y_grad"], "or it would run in the forward pass"


def test_the_transpose_of_a_gelu_is_recomputed_bit_for_bit() -> None:
    """Where a product reads it, and the GELU itself is not kept."""
    model = both_passes()
    before = results(model)
    turned = [
        node("MatMul", "x w", "h"),
        node("Gelu", "h", "g"),
        node("Transpose", "g", "t", perm=[1, 0]),
        node("MatMul", "v_t t", "z_t"),
        node("ReduceSum", "z_t", "loss", keepdims=0),
        node("MatMul", "t z", "v_grad"),
        node("MatMul", "v z_t", "t_grad"),
        node("Transpose", "t_grad", "g_grad", perm=[1, 0]),
        node("Mul", "g_grad h", "h_grad"),
        node("Transpose", "x", "x_t"),
        node("MatMul", "x_t h_grad", "w_grad"),
    ]
    turned.insert(3, node("Transpose", "v", "v_t"))
    turned.insert(6, node("Transpose", "z_t", "z"))
    del model.graph.node[:]
    model.graph.node.extend(turned)
    unchanged = results(model)
    assert np.allclose(unchanged[1], before[1], atol=1e-5), "the same computation"
    made = recompute_in_backward(model, "loss")
    assert "t.again" in made
    onnx.checker.check_model(model)
    for one, other in zip(unchanged, results(model), strict=True):
        assert np.array_equal(one, other)
    assert not {"t", "g"} & read_in_backward(model)


@pytest.mark.parametrize("mask_read", [True, False])
def test_dropout_is_recomputed_from_its_mask(mask_read: bool) -> None:
    """Where the gradient of Dropout keeps the mask."""
    nodes = [
        node("MatMul", "x w", "h"),
        node("Gelu", "h", "g"),
        node("Dropout", "g half true", "y mask"),
        node("MatMul", "y v", "z"),
        node("ReduceSum", "z", "loss", keepdims=0),
        node("Transpose", "v", "v_t"),
        node("Transpose", "y", "y_t"),
        node("MatMul", "y_t z", "v_grad"),
        node("MatMul", "z v_t", "y_grad"),
        node("DropoutGrad", f"y_grad {'mask' if mask_read else 'ones'} half true", "g_grad"),
        node("Mul", "g_grad h", "h_grad"),
        node("Transpose", "x", "x_t"),
        node("MatMul", "x_t h_grad", "w_grad"),
    ]
    nodes[9].domain = "com.microsoft"
    model = both_passes()
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend([
        numpy_helper.from_array(np.array(0.5, np.float32), "half"),
        numpy_helper.from_array(np.array(True), "true"),
        numpy_helper.from_array(np.ones((ROWS, WIDTH), np.bool_), "ones"),
    ])  # fmt: skip
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    made = recompute_in_backward(model, "loss")
    if not mask_read:
        assert made == {}
        return
    again = next(each for each in model.graph.node if each.output[0] == "y.again")
    assert (again.op_type, list(again.input)) == (
        "DropoutGrad",
        ["y.g.again", "mask", "half", "true"],
    )
    assert not {"y", "g"} & read_in_backward(model)


def test_results_that_the_own_gradient_reads_are_kept() -> None:
    """Here the gradient of the result is computed from the result."""
    model = both_passes()
    for each in model.graph.node:
        if each.output[0] == "y_grad":
            each.input[0] = "y"
    assert recompute_in_backward(model, "loss") == {}


def test_a_result_is_kept_where_its_input_is_not() -> None:
    model = both_passes()
    for each in model.graph.node:
        if each.output[0] == "h_grad":
            each.input[1] = "x"
    assert recompute_in_backward(model, "loss") == {}


def test_of_two_in_a_row_the_first_is_kept() -> None:
    """The gradient of the second reads it."""
    model = both_passes()
    graph = model.graph
    nodes = [*graph.node]
    nodes[1] = node("Gelu", "h", "g")
    nodes.insert(2, node("Gelu", "g", "y"))
    nodes[-3].input[1] = "g"
    nodes.insert(-3, node("Mul", "y_grad g", "g_grad"))
    copies = [onnx.NodeProto.FromString(each.SerializeToString()) for each in nodes]
    del graph.node[:]
    graph.node.extend(copies)
    before = results(model)
    made = recompute_in_backward(model, "loss")
    assert "y.again" in made
    assert "g.again" not in made
    for one, other in zip(before, results(model), strict=True):
        assert np.array_equal(one, other)

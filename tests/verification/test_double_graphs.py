"""Conversion of a graph to float64, node by node."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.forked import outcome
from workbench.verification.double_precision import in_double_precision
from workbench.verification.finite_differences import _methods
from workbench.verification.mixed_run import MixedRun, _lacks_kernel


def parsed(body: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 17]> {body}')


def test_both_branches_of_a_condition_are_converted() -> None:
    made = in_double_precision(
        parsed(
            "agraph (bool c, float[2] x) => (float[2] y) { y = If (c) <"
            "then_branch = yes () => (float[2] a) { one = Constant <value_float = 1.5> () "
            "a = Add(x, one) }, else_branch = no () => (float[2] b) "
            "{ i = Cast <to = 6> (x) b = Cast <to = 1> (i) }> }"
        )
    )
    onnx.checker.check_model(made, full_check=True)
    yes, no = (attribute.g for attribute in made.graph.node[0].attribute)
    assert numpy_helper.to_array(yes.node[0].attribute[0].t) == np.float64(1.5)
    assert [node.attribute[0].i for node in no.node] == [TensorProto.INT32, TensorProto.DOUBLE]
    outputs = [graph.output[0].type.tensor_type.elem_type for graph in (yes, no)]
    assert outputs == [TensorProto.DOUBLE] * 2
    assert made.graph.input[0].type.tensor_type.elem_type == TensorProto.BOOL


def test_types_other_than_float32_stay() -> None:
    made = in_double_precision(
        parsed(
            "agraph (int64[2, 1] n, float[2, 1] x) => (float[2, 2] y) <int64[1] i = {3}> {"
            "k = Constant <value_int = 1> () t = Constant <value = int64[1] {5}> () "
            "z = Cast <to = 10> (x) d = Cast <to = 1> (z) e = EyeLike <dtype = 1> (n) "
            "g = EyeLike <dtype = 7> (n) y = Concat <axis = 1> (d, e) }"
        )
    )
    assert made.graph.input[0].type.tensor_type.elem_type == TensorProto.INT64
    assert made.graph.input[1].type.tensor_type.elem_type == TensorProto.DOUBLE
    assert made.graph.initializer[0].data_type == TensorProto.INT64
    number, tensor, half, back, eye, whole, joined = (n.attribute[0] for n in made.graph.node)
    assert (number.name, number.i) == ("value_int", 1)
    assert tensor.t.data_type == TensorProto.INT64
    assert (half.i, back.i) == (TensorProto.FLOAT16, TensorProto.DOUBLE)
    assert (eye.i, whole.i) == (TensorProto.DOUBLE, TensorProto.INT64)
    assert (joined.name, joined.i) == ("axis", 1), "and not the number of float32"


def test_a_constant_of_scales_stays_and_one_of_values_does_not() -> None:
    scales = numpy_helper.from_array(np.float32([1, 1, 2]), "")
    shift = numpy_helper.from_array(np.float32([0.5]), "")
    nodes = [
        helper.make_node("Constant", [], ["scales"], value=scales),
        helper.make_node("Constant", [], ["shift"], value=shift),
        helper.make_node("Add", ["x", "shift"], ["h"]),
        helper.make_node("Resize", ["h", "", "scales"], ["y"], mode="nearest"),
    ]
    graph = helper.make_graph(
        nodes,
        "resized",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 4])],
        value_info=[helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, 1, 2])],
    )
    opsets = [helper.make_opsetid("", 17)]
    made = in_double_precision(helper.make_model(graph, opset_imports=opsets, ir_version=9))
    types = [node.attribute[0].t.data_type for node in made.graph.node[:2]]
    assert types == [TensorProto.FLOAT, TensorProto.DOUBLE]
    assert not made.graph.value_info


LOSS = parsed(
    "agraph (float[2] x, float[2] w) => (float loss, float[2] more) <float[2] half = {0.5, 0.5}> {"
    "low = Constant <value_float = -9.0> () p = Mul(x, w) c = Clip(p, , low) d = Clip(p, low, ) "
    "e = Erf(d) s = Sub(d, half) q = Mul(s, e) r = Add(q, c) "
    "loss = ReduceSum <keepdims = 0> (r) more = Identity(e) }"
)
FEEDS = {"x": np.array([1.0, 2.0]), "w": np.array([0.25, -0.5])}


def expected() -> float:
    import math

    found = 0.0
    for x, w in zip(FEEDS["x"], FEEDS["w"], strict=True):
        product = x * w
        found += (product - 0.5) * math.erf(product) + min(product, -9.0)
    return found


def test_a_graph_of_pieces_takes_optional_inputs_and_gives_its_first_output() -> None:
    found = outcome(lambda: MixedRun(in_double_precision(LOSS), 1).run(FEEDS))
    assert found == pytest.approx(expected(), rel=1e-14)


def test_every_method_runs_the_graph_that_it_says() -> None:
    """In float64 ONNX Runtime has no kernel of Erf."""

    def losses() -> list[float | str]:
        found: list[float | str] = []
        for method in _methods(LOSS, 1):
            feeds = {name: value.astype(method.dtype) for name, value in FEEDS.items()}
            try:
                found.append(method.load()(feeds))
            except Exception as error:
                found.append(type(error).__name__)
        return found

    native, mixed, single = outcome(losses)
    assert native == "EngineError"
    assert mixed == pytest.approx(expected(), rel=1e-14)
    assert single == pytest.approx(expected(), rel=1e-6)
    assert single != mixed


@pytest.mark.parametrize(
    ("op", "domain", "lacks"),
    [
        ("Erf", "", True),
        ("Erf", "ai.onnx", True),
        ("Gelu", "com.microsoft", False),
        ("Tanh", "", False),
    ],
)
def test_only_operators_of_the_default_domain_lack_kernels(
    op: str, domain: str, lacks: bool
) -> None:
    assert _lacks_kernel(helper.make_node(op, ["x"], ["y"], domain=domain)) is lacks

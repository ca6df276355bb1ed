"""Gradients of operations on tensors, each of one node, and where they do not apply."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.forked import outcomes_of
from tests.trainable.custom_gradients import tensor_cases
from tests.trainable.custom_gradients.gradient_table import Case, build, numbers
from tests.trainable.custom_gradients.tensor_cases import CASES, CUBE
from workbench.errors import UntrainableError
from workbench.onnx_io.graph_metadata import DETACHED
from workbench.trainable import find, leading_to_outputs, make_trainable
from workbench.trainable.custom_gradients.products.einsum import written_out
from workbench.trainable.shapes.reduced_axes import keeps_axes, reduced_axes

TOLERANCE = 0.02
"""Of float32 finite differences, relative to the largest gradient."""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    return outcomes_of(tensor_cases)


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_right(name: str, outcomes: dict[str, Any]) -> None:
    outcome = outcomes[name]
    assert isinstance(outcome, float), outcome
    assert outcome < TOLERANCE, f"largest relative difference {outcome:.1e}"


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.cast])
def test_the_report_lists_the_gradient(name: str) -> None:
    notes = {found.op: found.note for found in find(build(CASES[name]), ["p"])}
    assert notes[CASES[name].op]


@pytest.mark.parametrize(
    "case",
    [
        Case("Concat", inputs=("p", "p"), attributes={"axis": 1}),
        Case("MatMul", inputs=("p", CUBE[0].T.copy())),
        Case("ReduceL2", inputs=("p", numbers(1))),
        Case("ScatterElements", inputs=("p", numbers(0).reshape(1, 1, 1), CUBE[:1, :1, :1])),
        Case("Slice", inputs=("p", numbers(0), numbers(6), numbers(2), numbers(2))),
        Case("Unsqueeze", inputs=("p", numbers(1))),
        Case("Where", inputs=(CUBE > 0, "p", CUBE[:1])),
    ],
    ids=lambda case: str(case.op),
)
def test_a_node_that_trains_is_left_alone(case: Case) -> None:
    model = build(case)
    made, report = make_trainable(model, ["p"])
    assert made is model
    assert not report.gradients


def _reduction(axes: list[int] | None, *, as_input: bool, **attributes: int) -> ir.Node:
    source = ir.Value(name="x", shape=ir.Shape([2, 3, 4]), type=ir.TensorType(ir.DataType.FLOAT))
    inputs, given = [source], dict[str, Any](attributes)
    if axes is not None and as_input:
        tensor = ir.tensor(np.array(axes, np.int64))
        inputs.append(ir.Value(name="axes", const_value=tensor))
    elif axes is not None:
        given["axes"] = axes
    return ir.node("ReduceMax", inputs, given)


@pytest.mark.parametrize("as_input", [True, False])
@pytest.mark.parametrize(
    ("axes", "expected"), [([1], [1]), ([-1, 0], [0, 2]), (None, [0, 1, 2]), ([2, -3], [0, 2])]
)
def test_axes_of_a_reduction(axes: list[int] | None, expected: list[int], as_input: bool) -> None:
    assert reduced_axes(_reduction(axes, as_input=as_input)) == expected


def test_no_axes_may_mean_no_reduction() -> None:
    node = _reduction(None, as_input=True, noop_with_empty_axes=1, keepdims=0)
    assert reduced_axes(node) == []
    assert not keeps_axes(node)


@pytest.mark.parametrize(
    ("equation", "inputs", "output"),
    [
        ("ij, jk -> ik", ["ij", "jk"], "ik"),
        ("bj,ja", ["bj", "ja"], "ab"),
        ("...j,jk->...k", ["abj", "jk"], "abk"),
        ("...j,jk", ["abj", "jk"], "abk"),
    ],
)
def test_an_equation_is_written_out(equation: str, inputs: list[str], output: str) -> None:
    ranks = (3 if "..." in equation else 2, 2)
    values = [ir.Value(name=f"v{rank}", shape=ir.Shape([5] * rank)) for rank in ranks]
    terms = written_out(ir.node("Einsum", values, {"equation": equation}))
    taken = {letter for term in terms.inputs for letter in term}
    assert [len(term) for term in terms.inputs] == list(ranks)
    assert set(terms.output) <= taken
    if "..." not in equation:
        assert (terms.inputs, terms.output) == (inputs, output)
    else:
        assert terms.inputs[0][-1] == "j"
        assert terms.output == terms.inputs[0][:2] + "k"


def _graph(nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def test_a_product_with_a_vector_of_unknown_rank_is_refused() -> None:
    model = _graph(
        [
            helper.make_node("Reshape", ["w", "x.shape"], ["h"]),
            helper.make_node("MatMul", ["h", "v"], ["y"]),
        ],
        {"w": np.ones(4, np.float32), "v": np.ones(4, np.float32)},
    )
    model.graph.input.append(helper.make_tensor_value_info("x.shape", TensorProto.INT64, ["n"]))
    with pytest.raises(UntrainableError, match="product with a vector"):
        make_trainable(model, ["w"])


def test_a_choice_of_unknown_rank_is_refused() -> None:
    model = _graph(
        [
            helper.make_node("Reshape", ["w", "x.shape"], ["h"]),
            helper.make_node("Greater", ["x", "h"], ["c"]),
            helper.make_node("Where", ["c", "x", "h"], ["y"]),
        ],
        {"w": np.ones(4, np.float32)},
    )
    model.graph.input.append(helper.make_tensor_value_info("x.shape", TensorProto.INT64, ["n"]))
    with pytest.raises(UntrainableError, match="broadcast"):
        make_trainable(model, ["w"])


def test_a_sum_at_places_of_unknown_rank_is_refused() -> None:
    model = _graph(
        [
            helper.make_node("Reshape", ["w", "x.shape"], ["h"]),
            helper.make_node("ScatterND", ["h", "places", "x"], ["y"], reduction="add"),
        ],
        {"w": np.ones((4, 4), np.float32), "places": np.zeros((2, 1), np.int64)},
    )
    model.graph.input.append(helper.make_tensor_value_info("x.shape", TensorProto.INT64, ["n"]))
    with pytest.raises(UntrainableError, match="loses updates"):
        make_trainable(model, ["w"])


def _detached() -> onnx.ModelProto:
    """y = (x w) detached + x v."""
    model = _graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"], "first"),
            helper.make_node("Clip", ["h"], ["stopped"], "stop"),
            helper.make_node("MatMul", ["x", "v"], ["g"], "second"),
            helper.make_node("Add", ["stopped", "g"], ["y"], "sum"),
        ],
        {name: np.ones((4, 4), np.float32) for name in ("v", "w")},
    )
    mark = model.graph.node[1].metadata_props.add()
    mark.key, mark.value = DETACHED, "1"
    return model


def test_no_gradient_leads_past_where_it_stops() -> None:
    assert leading_to_outputs(_detached(), ["v", "w"]) == ["v"]


def test_the_place_where_the_gradient_stops_is_reported() -> None:
    _, report = make_trainable(_detached(), ["v", "w"])
    assert [(found.node, found.op) for found in report.rewritten] == [("stop", "Clip")]
    assert [(gradient.node, dict(gradient.results)) for gradient in report.gradients] == [
        ("stop", {})
    ]


def test_a_stop_that_stops_nothing_leaves_the_graph_alone() -> None:
    model = _detached()
    assert make_trainable(model, ["v"])[0] is model

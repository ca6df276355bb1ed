"""Gradients of operations on tensors, each of one node, and where they do not apply."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.forked import outcomes_of
from tests.trainable.custom_gradients import tensor_cases
from tests.trainable.custom_gradients.gradient_table import Case, build, numbers
from tests.trainable.custom_gradients.graphs import graph_of
from tests.trainable.custom_gradients.tensor_cases import CASES, CUBE
from workbench.errors import UntrainableError
from workbench.onnx_io.graph_metadata import DETACHED
from workbench.trainable import find, leading_to_outputs, make_trainable

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


def test_a_choice_of_unknown_rank_is_refused() -> None:
    model = graph_of(
        helper.make_node("Reshape", ["w", "size"], ["h"]),
        helper.make_node("Greater", ["x", "h"], ["c"]),
        helper.make_node("Where", ["c", "x", "h"], ["y"]),
        w=np.ones(4, np.float32),
    )
    with pytest.raises(UntrainableError, match="broadcast"):
        make_trainable(model, ["w"])


def _detached() -> onnx.ModelProto:
    """y = (x w) detached + x v."""
    model = graph_of(
        helper.make_node("MatMul", ["x", "w"], ["h"], "first"),
        helper.make_node("Clip", ["h"], ["stopped"], "stop"),
        helper.make_node("MatMul", ["x", "v"], ["g"], "second"),
        helper.make_node("Add", ["stopped", "g"], ["y"], "sum"),
        **{name: np.ones((4, 4), np.float32) for name in ("v", "w")},
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

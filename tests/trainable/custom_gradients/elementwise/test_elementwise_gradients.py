"""Gradients of functions of each element, each of one node, and where they do not apply."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.forked import outcomes_of
from tests.trainable.custom_gradients.elementwise import elementwise_cases
from tests.trainable.custom_gradients.elementwise.elementwise_cases import CASES
from tests.trainable.custom_gradients.gradient_table import CUBE, Case, build, scalar
from tests.trainable.custom_gradients.graphs import graph_of
from workbench.errors import UntrainableError
from workbench.trainable import find, leading_to_outputs, make_trainable

TOLERANCE = 0.02
"""Of float32 finite differences, relative to the largest gradient."""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    return outcomes_of(elementwise_cases)


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_right(name: str, outcomes: dict[str, Any]) -> None:
    outcome = outcomes[name]
    assert isinstance(outcome, float), outcome
    assert outcome < TOLERANCE, f"largest relative difference {outcome:.1e}"


@pytest.mark.parametrize("name", CASES)
def test_the_report_lists_the_gradient(name: str) -> None:
    states = {found.op: found.state for found in find(build(CASES[name]), ["p"])}
    assert states[CASES[name].op] == "rewritten"


@pytest.mark.parametrize(
    "case",
    [
        Case("Clip", inputs=("p", scalar(-0.5), scalar(0.5))),
        Case("Pow", inputs=("p", scalar(2))),
    ],
    ids=lambda case: str(case.op),
)
def test_a_node_that_trains_is_left_alone(case: Case) -> None:
    model = build(case)
    made, report = make_trainable(model, ["p"])
    assert made is model
    assert not report.gradients


@pytest.mark.parametrize(("op", "reason"), [("Pow", "exponent"), ("PRelu", "no gradient")])
def test_unknown_broadcasts_are_refused(op: str, reason: str) -> None:
    model = graph_of(
        helper.make_node("Reshape", ["w", "size"], ["h"]),
        helper.make_node(op, ["x", "h"], ["y"]),
        w=np.ones(4, np.float32),
    )
    with pytest.raises(UntrainableError, match=reason):
        make_trainable(model, ["w"])


def test_mish_is_written_as_the_same_function() -> None:
    model = graph_of(
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Mish", ["h"], ["y"], "unit"),
        w=np.eye(4, dtype=np.float32),
    )
    made, report = make_trainable(model, ["w"])
    assert [node.op_type for node in made.graph.node][:4] == ["MatMul", "Softplus", "Tanh", "Mul"]
    assert [found.node for found in report.rewritten if found.op == "Mish"] == ["unit"]
    onnx.checker.check_model(made, full_check=True)
    feeds = {"x": CUBE[0, :, :4] * 20, "size": np.array([4])}
    (got,), (expected,) = (ReferenceEvaluator(each).run(None, feeds) for each in (made, model))
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("op", ["Ceil", "Floor", "Round", "Sign"])
def test_no_gradient_passes_a_step(op: str) -> None:
    model = graph_of(
        helper.make_node("Mul", ["x", "w"], ["h"], "first"),
        helper.make_node(op, ["h"], ["step"], "step"),
        helper.make_node("Mul", ["step", "v"], ["y"], "second"),
        w=np.ones(4, np.float32),
        v=np.ones(4, np.float32),
    )
    assert leading_to_outputs(model, ["v", "w"]) == ["v"]
    _, report = make_trainable(model, ["v", "w"])
    assert [(found.op, found.node) for found in report.rewritten] == [(op, "step")]
    assert [(gradient.node, dict(gradient.results)) for gradient in report.gradients] == [
        ("step", {})
    ]
    made, report = make_trainable(model, ["v"])
    assert made is model
    assert not report.changed

"""Recurrent nodes: gradients by the library in a process of its own; refusals without it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.forked import outcomes_of
from tests.trainable.rewrites import recurrence_cases
from tests.trainable.rewrites.recurrence_cases import CASES, Case, build
from workbench.errors import UntrainableError
from workbench.trainable import make_trainable

TOLERANCE = 1e-3
"""Of finite differences in float32."""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, object]:
    return outcomes_of(recurrence_cases)


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_that_of_finite_differences(outcomes: dict[str, object], name: str) -> None:
    found = outcomes[name]
    assert isinstance(found, dict), found
    assert found["loss"] < 1e-6
    assert found["gradient"] < TOLERANCE


def test_a_recurrence_that_trains_is_left_alone() -> None:
    model, _ = build(Case("LSTM", (0, 1, 2)))
    made, report = make_trainable(model, ["p"])
    assert made is model
    assert not report.changed


def test_both_directions_become_two_nodes() -> None:
    model, _ = build(CASES["LSTM, bidirectional, bare"])
    made, report = make_trainable(model, ["p"])
    assert [node.op_type for node in made.graph.node].count("LSTM") == 2
    assert [finding.op for finding in report.rewritten][:1] == ["LSTM"]
    onnx.checker.check_model(made, full_check=True)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("LSTM", {"clip": 1.0}),
        ("LSTM", {"input_forget": 1}),
        ("GRU", {"activations": ["Sigmoid", "Relu"]}),
    ],
)
def test_unsupported_recurrences_are_refused(op: str, attributes: dict[str, object]) -> None:
    model, _ = build(Case(op, attributes=attributes))
    with pytest.raises(UntrainableError, match=rf"{op} \(node\).*default activations"):
        make_trainable(model, ["p"])


def test_a_simple_recurrence_of_another_function_is_refused() -> None:
    model, _ = build(Case("RNN", attributes={"activations": ["Elu"]}))
    with pytest.raises(UntrainableError, match=r"RNN \(node\).*Use tanh or ReLU"):
        make_trainable(model, ["p"])


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_sequences_of_several_lengths_are_refused(op: str) -> None:
    model, _ = build(Case(op))
    lengths = onnx.numpy_helper.from_array(np.array([4, 2, 3], np.int32), "lengths")
    model.graph.initializer.append(lengths)
    node = next(node for node in model.graph.node if node.op_type == op)
    node.input[4] = "lengths"
    with pytest.raises(UntrainableError, match="sequences of equal length"):
        make_trainable(model, ["p"])

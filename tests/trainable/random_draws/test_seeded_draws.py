"""Draws that follow ONNX Runtime's seed: which they are, and how they are distributed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.forked import outcomes_of
from tests.trainable.random_draws import draw_cases
from tests.trainable.random_draws.draw_cases import CASES, CHANCES, ROWS, graph_of
from workbench.onnx_io.graph_metadata import DRAWN
from workbench.trainable import seeded_draws


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    return outcomes_of(draw_cases)


@pytest.mark.parametrize("name", CASES)
def test_the_seed_alone_decides(name: str, outcomes: dict[str, Any]) -> None:
    """In a session that has drawn before, and in a new one."""
    assert outcomes[name]["again"], "one seed drew twice differently"
    if name != "no numbers":
        assert outcomes[name]["other"] > 0.1, "two seeds drew the same"


@pytest.mark.parametrize(
    ("name", "shape", "dtype"),
    [
        ("normal", [ROWS, 4], "float32"),
        ("of a shape", [ROWS, 4], "float32"),
        ("double", [ROWS], "float64"),
        ("one number", [], "float32"),
        ("no numbers", [3, 0], "float32"),
        ("bernoulli", [ROWS, 4], "int64"),
        ("classes", [1, ROWS], "int32"),
    ],
)
def test_shape_and_dtype_are_kept(
    name: str, shape: list[int], dtype: str, outcomes: dict[str, Any]
) -> None:
    assert (outcomes[name]["shape"], outcomes[name]["dtype"]) == (shape, dtype)


@pytest.mark.parametrize(
    ("name", "mean", "deviation", "tenth"),
    [
        ("uniform", 3.0, 2 / 12**0.5, 2.2),
        ("double", 0.5, 1 / 12**0.5, 0.1),
        ("normal", 3.0, 2.0, 3 - 2 * 1.2816),
        ("with a seed", 0.0, 1.0, -1.2816),
        ("of a shape", 0.0, 1.0, -1.2816),
    ],
)
def test_numbers_are_distributed_as_asked_for(
    name: str, mean: float, deviation: float, tenth: float, outcomes: dict[str, Any]
) -> None:
    """To five times what is expected of so many numbers; the seeds are fixed."""
    found = outcomes[name]
    expected = deviation / ROWS**0.5
    assert abs(found["mean"] - mean) < 5 * expected
    assert abs(found["deviation"] - deviation) < 5 * expected
    low, first, middle, last, high = found["quantiles"]
    np.testing.assert_allclose([first, middle, last], [tenth, mean, 2 * mean - tenth], atol=0.03)
    assert abs(found["neighbours"]) < 5 / ROWS**0.5
    assert abs(found["seeds"]) < 5 / ROWS**0.5
    if name == "uniform":
        assert 2.0 <= low < high < 4.0
    if "normal" in CASES[name].op_type.lower():
        assert 3.5 < (high - mean) / deviation < 6


def test_a_chance_is_how_often_one_is_drawn(outcomes: dict[str, Any]) -> None:
    columns = outcomes["bernoulli"]["columns"]
    np.testing.assert_allclose(columns, CHANCES, atol=0.01)
    assert (columns[0], columns[3]) == (0, 1)


def test_classes_are_drawn_as_often_as_their_logits_say(outcomes: dict[str, Any]) -> None:
    counts = np.array(outcomes["classes"]["counts"]) / ROWS
    np.testing.assert_allclose(counts, [0.1, 0.2, 0.7, 0], atol=0.01)
    assert counts[3] == 0


def test_a_graph_without_other_draws_than_dropout_is_the_same_object() -> None:
    for op in ("Relu", "Dropout"):
        model = graph_of(helper.make_node(op, ["x"], ["y"]))
        assert seeded_draws(model) is model


def test_every_node_keeps_the_layer_and_no_mark() -> None:
    node = helper.make_node("RandomNormalLike", ["x"], ["y"], "noise")
    node.metadata_props.add(key="layer", value="block.0")
    node.metadata_props.add(key=DRAWN, value="1")
    model = graph_of(node)
    before = model.SerializeToString()
    made = seeded_draws(model).graph.node
    assert len({part.name for part in made}) == len(made)
    for part in made:
        assert part.name.startswith("noise/")
        assert [(entry.key, entry.value) for entry in part.metadata_props] == [("layer", "block.0")]
    assert model.SerializeToString() == before, "the graph that was given changed"

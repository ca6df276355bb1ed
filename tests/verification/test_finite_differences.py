"""Finite differences of functions and graphs whose gradients are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from workbench.verification.finite_differences import (
    Feeds,
    Method,
    _as,
    _differences,
    _use_batch_statistics,
)


def way(dtype: type[np.floating], step: float) -> Method:
    return Method("a function", lambda: lambda feeds: 0.0, dtype, step, 0.0)


@pytest.mark.parametrize(("dtype", "step", "tolerance"), [
    (np.float64, 1e-6, 1e-5), (np.float32, 1e-2, 1e-3),
])  # fmt: skip
def test_the_gradient_of_a_known_function(
    dtype: type[np.floating], step: float, tolerance: float
) -> None:
    """Of sum(w^2) + 3 b, whose gradients are 2 w and 3."""
    feeds = {"w": np.array([[0.5, -2.0], [100.0, 4.0]], np.float32), "b": np.float32([7.0])}
    before = {name: value.copy() for name, value in feeds.items()}

    def loss(given: Feeds) -> float:
        assert given["w"].dtype == given["b"].dtype == dtype
        return float((given["w"].astype(np.float64) ** 2).sum() + 3 * given["b"][0])

    entries = {"w": np.array([2, 0, 1]), "b": np.array([0])}
    found = _differences(loss, way(dtype, step), feeds, entries)
    assert list(found) == ["w", "b"]
    np.testing.assert_allclose(found["w"], [200.0, 1.0, -4.0], rtol=tolerance)
    np.testing.assert_allclose(found["b"], [3.0], rtol=tolerance)
    assert {value.dtype for value in found.values()} == {np.dtype(np.float64)}
    for name, value in before.items():
        np.testing.assert_array_equal(feeds[name], value)


def test_an_entry_is_moved_by_its_size_both_ways_and_put_back() -> None:
    seen: list[tuple[float, float]] = []

    def loss(given: Feeds) -> float:
        seen.append((given["w"][0], given["w"][1]))
        return 0.0

    _differences(
        loss, way(np.float64, 0.125), {"w": np.float32([0.5, -8.0])}, {"w": np.array([0, 1])}
    )
    assert seen == [(0.625, -8.0), (0.375, -8.0), (0.5, -7.0), (0.5, -9.0)]


def test_only_float32_values_are_converted() -> None:
    feeds: dict[str, Any] = {
        "x": np.ones((2, 3), np.float32).T, "tokens": np.arange(3), "flag": np.array([True]),
    }  # fmt: skip
    made = _as(feeds, np.float64)
    assert [value.dtype for value in made.values()] == [np.float64, np.int64, np.bool_]
    assert made["x"].flags.c_contiguous
    for name, value in feeds.items():
        np.testing.assert_array_equal(made[name], value)
        assert not np.shares_memory(made[name], value)


def test_only_normalizations_that_update_take_the_statistics_of_the_batch() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]>'
        "agraph (float[4, 2] x, float[2] s, float[2] b, float[2] m, float[2] v, float[2] n) "
        "=> (float[4, 2] z) {"
        "y = BatchNormalization <epsilon = 0.5, training_mode = 0> (x, s, b, m, v) "
        "r = Relu(y) z = BatchNormalization(r, s, b, n, v) }"
    )
    _use_batch_statistics(model, {"m"})
    updated, relu, frozen = model.graph.node
    assert {a.name: a.i or a.f for a in updated.attribute} == {"epsilon": 0.5, "training_mode": 1}
    assert list(updated.output) == ["y", "y.mean", "y.var"]
    assert list(relu.output) == ["r"]
    assert list(frozen.output) == ["z"]
    assert not frozen.attribute

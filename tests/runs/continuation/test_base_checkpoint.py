"""Which weights a model takes from a base, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runs.recorded import model
from workbench.errors import ConfigError, ModelError
from workbench.runs.continuation.base_checkpoint import (
    SHOWN,
    BaseCheckpoint,
    is_weights_file,
    with_base,
)

BIAS = np.full(10, 7.0, np.float32)
WEIGHT = np.full((64, 10), 3.0, np.float32)


def base(has_others: bool = False, **weights: np.ndarray) -> BaseCheckpoint:
    return BaseCheckpoint(weights, "run of-before", {}, has_others)


def test_excepted_weights_keep_their_values_also_where_shapes_differ() -> None:
    own = model().weights()
    found = with_base(model(), base(weight=WEIGHT, bias=BIAS), ()).weights()
    np.testing.assert_array_equal(found["weight"], WEIGHT)
    np.testing.assert_array_equal(found["bias"], BIAS)
    wide = np.zeros((64, 11), np.float32)
    for pattern in ("weight", "w*"):
        found = with_base(model(), base(weight=wide, bias=BIAS), (pattern,)).weights()
        np.testing.assert_array_equal(found["weight"], own["weight"])
        np.testing.assert_array_equal(found["bias"], BIAS)
    found = with_base(model(), base(bias=BIAS, head=wide), ("weight", "head")).weights()
    assert set(found) == {"weight", "bias"}
    np.testing.assert_array_equal(found["weight"], own["weight"])


def test_a_graph_may_hold_constants_besides_weights() -> None:
    found = with_base(model(), base(True, weight=WEIGHT, bias=BIAS, axes=BIAS), ()).weights()
    assert set(found) == {"weight", "bias"}


@pytest.mark.fault
def test_all_weights_that_do_not_fit_are_reported_together() -> None:
    others = {f"h{place}": BIAS for place in range(SHOWN + 2)}
    with pytest.raises(ModelError) as refused:
        with_base(model(), base(weight=WEIGHT.T, **others), ())
    unknown = ", ".join(repr(name) for name in [*others][:SHOWN])
    assert str(refused.value) == (
        "The weights of run of-before do not fit model 'line': it lacks 'bias'; it has unknown "
        f"{unknown} and 2 more; of another shape are 'weight' [10, 64] (expected [64, 10]). "
        "Use weights of this model, or name in base_except those to leave at their initial values."
    )
    exact = {name: others[name] for name in [*others][:SHOWN]}
    with pytest.raises(ModelError, match=rf"it has unknown 'h0'.*'h{SHOWN - 1}'\. Use"):
        with_base(model(), base(weight=WEIGHT, bias=BIAS, **exact), ())


@pytest.mark.fault
def test_every_pattern_that_matches_nothing_is_reported() -> None:
    with pytest.raises(ConfigError) as refused:
        with_base(model(), base(weight=WEIGHT, bias=BIAS), ("weigh", "bias", "head.*"))
    first, second = refused.value.problems
    assert first.startswith("base_except pattern 'weigh' matches no weight. Did you mean 'weight'")
    assert second.startswith("base_except pattern 'head.*' matches no weight.")


@pytest.mark.fault
@pytest.mark.parametrize(("name", "why"), [("a.pt", "may hold pickles"), ("a.txt", "is neither")])
def test_a_file_of_another_kind_is_refused(name: str, why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        BaseCheckpoint.of(name, None)
    assert [*refused.value.problems] == [
        f"base='{name}': give a run, its id, or a .safetensors or .onnx file; this {why}."
    ]


@pytest.mark.parametrize(
    ("name", "is_file"),
    [
        ("a.onnx", True),
        ("a.safetensors", True),
        ("a.pt", True),
        ("20250101-run", False),
        (3, False),
    ],
)
def test_a_file_of_weights_is_known_by_its_name(name: object, is_file: bool) -> None:
    assert is_weights_file(name) == is_file

"""Statistics of layers over a run of any length, in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.chart_series.layers import LayerSeries

NAMES: dict[str, Any] = {"event": "layers", "names": ["a", "b"]}


def at(step: int) -> dict[str, Any]:
    return {
        "event": "layer_statistics",
        "step": step,
        "gradient_norms": [float(step), 2.0 * step],
        "update_ratios": [0.5, None],
    }


def test_values_are_by_layer_and_step() -> None:
    series = LayerSeries()
    assert series.add([NAMES, at(10), {"event": "evaluation"}, at(20)])
    assert not series.add([{"event": "evaluation"}])
    assert series.names == ["a", "b"]
    assert series.steps.tolist() == [10, 20]
    assert series.values("gradient_norms").tolist() == [[10, 20], [20, 40]]
    np.testing.assert_array_equal(series.values("update_ratios"), [[0.5, 0.5], [np.nan, np.nan]])


def test_a_long_series_is_thinned_evenly_and_keeps_its_last_step() -> None:
    series = LayerSeries(limit=8)
    series.add([NAMES])
    for step in range(1, 1001):
        series.add([at(step)])
        assert len(series) <= 8
        steps = series.steps
        assert steps[-1] == step
        assert steps[0] == 1
        gaps = np.diff(steps[:-1])
        assert len(set(gaps.tolist())) <= 1, steps


def test_steps_repeated_by_a_resumed_run_replace_the_old_ones() -> None:
    series = LayerSeries(limit=8)
    series.add([NAMES, *map(at, range(1, 31))])
    series.cut(17)
    assert max(series.steps) <= 17
    series.add([at(18), at(19)])
    assert series.steps[-1] == 19
    assert (np.diff(series.steps) > 0).all()
    series.cut(0)
    assert len(series) == 0
    assert series.values("update_ratios").shape == (2, 0)


def test_other_layers_start_a_new_series_and_records_that_do_not_fit_are_left_out() -> None:
    series = LayerSeries()
    series.add([NAMES, at(1), {"event": "layers", "names": ["c"]}, at(2)])
    assert series.names == ["c"]
    assert len(series) == 0

"""What a reader makes of the events of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.runs.written import DONE, steps, write_run
from workbench.runs.record.history import layers_frame


def test_layers_have_a_row_a_record_and_the_names_before_it() -> None:
    def measured(step: int, norms: list[float | None]) -> dict[str, Any]:
        ratios = [0.5] * len(norms)
        return {
            "event": "layer_statistics",
            "step": step,
            "gradient_norms": norms,
            "update_ratios": ratios,
        }

    events = [
        measured(1, [9.0]),
        {"event": "layers", "names": ["a", "b"]},
        measured(2, [1.0, None]),
        {"event": "paused"},
        {"event": "layers", "names": ["c"]},
        measured(3, [3.0]),
    ]
    frame = layers_frame(write_run("a", events, DONE).follow().poll())
    assert list(frame["step"]) == [2, 2, 3]
    assert list(frame["layer"]) == ["a", "b", "c"]
    np.testing.assert_array_equal(frame["gradient_norm"], [1.0, np.nan, 3.0])
    assert list(frame["update_ratio"]) == [0.5] * 3
    assert frame["step"].dtype == np.int64


def test_the_record_of_the_restored_step_stays() -> None:
    events: list[dict[str, Any]] = [
        steps(1, [1.0] * 3),
        *({"event": "checkpoint", "step": step} for step in (1, 2, 3)),
        {"event": "restored", "step": 2},
    ]
    points = write_run("a", events, DONE).follow().poll()
    assert [(event["event"], event["step"]) for event in points.events] == [
        ("checkpoint", 1), ("checkpoint", 2), ("restored", 2),
    ]  # fmt: skip
    assert list(points.step) == [1, 2]
    later = [steps(1, [1.0]), steps(2, [1.0] * 2), {"event": "restored", "step": 2}]
    assert list(write_run("c", later, DONE).follow().poll().step) == [1, 2]
    twice = [*events[:4], {"event": "restored", "step": 1}, events[-1]]
    assert write_run("b", twice, DONE).follow().poll().restored_step == 1

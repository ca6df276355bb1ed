"""Events of ONNX Runtime's profiler as timings, and their medians."""

from __future__ import annotations

from typing import Any

from workbench.operator_timing import Timing, median_times


def timing(op: str, us: float, part: Any = "forward") -> Timing:
    return Timing(part, op, "", "PyTorch", us)


def test_the_median_is_of_whole_steps() -> None:
    steps = [[timing("a", 1), timing("a", 2)], [timing("a", 10), timing("a", 20)], [timing("a", 4)]]
    (time,) = median_times(steps)
    assert (time.us, time.calls) == (4, 2)


def test_an_operator_that_did_not_run_took_no_time() -> None:
    (time,) = median_times([[timing("a", 5)], [], []])
    assert (time.us, time.calls) == (0, 0)


def test_the_parts_of_a_step_are_kept_apart_and_the_longest_comes_first() -> None:
    times = median_times([[timing("a", 1), timing("a", 7, "backward"), timing("b", 3)]])
    assert [(time.op, time.part, time.us) for time in times] == [
        ("a", "backward", 7),
        ("b", "forward", 3),
        ("a", "forward", 1),
    ]

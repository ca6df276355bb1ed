"""A step that was interrupted does not count."""

from __future__ import annotations

from workbench.profiling.__main__ import faster_half, median_answer
from workbench.profiling.torch_steps import ProfiledStep
from workbench.run_folder.operator_timing import Timing


def step(wall_ms: float) -> ProfiledStep:
    return ProfiledStep([Timing("forward", "Gemm", "a", "CPU", 900 * wall_ms)], wall_ms)


def test_the_faster_half_is_kept() -> None:
    found = faster_half([step(wall) for wall in (9.0, 1.0, 2.0, 40.0, 3.0)])
    assert [one.wall_ms for one in found] == [1.0, 2.0, 3.0]
    assert faster_half([step(7.0)]) == [step(7.0)]


def test_medians_are_those_of_the_faster_half() -> None:
    profiled = faster_half([step(wall) for wall in (9.0, 1.0, 2.0, 40.0, 3.0)])
    walls = [50.0, 1.5, 2.5, 0.5, 70.0]
    answer = median_answer(
        walls, [one.wall_ms for one in profiled], [one.timings for one in profiled]
    )
    assert (answer.wall_ms, answer.profiled_wall_ms) == (1.5, 2.0)
    assert answer.times[0].us == 1800

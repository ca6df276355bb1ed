"""`python -m workbench.profiling REQUEST.json`: profiles training steps of one engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from workbench.child_process.child import serve
from workbench.files.temporary_folder import temporary_folder
from workbench.profiling.request import ProfilingAnswer, ProfilingRequest
from workbench.profiling.steps import EngineSteps
from workbench.profiling.torch_steps import ProfiledStep, profiled_step
from workbench.run_folder.operator_timing import Timing, median_times
from workbench.settings.engines import NODE_PROFILER, OPERATOR_PROFILER, engine_info

Report = Callable[[str], None]


def answer(report: Report) -> None:
    """Profile the engine of the request and write the result.

    Raises:
        WorkbenchError: the engine cannot train this model.
    """
    request = ProfilingRequest.read(Path(sys.argv[1]))
    measured(request, report).write(request.answer_path)


def measured(request: ProfilingRequest, report: Report) -> ProfilingAnswer:
    """Take steps under each profiler of the engine, and without one.

    ONNX Runtime's profiler times the nodes of its graphs, PyTorch's the operators outside of them.
    """
    profilers = engine_info(request.config.engine).profilers
    profiles: list[list[ProfiledStep]] = []
    if NODE_PROFILER in profilers:
        steps, of_graphs = under_onnxruntime(request, report)
        profiles.append(faster_half(of_graphs))
    else:
        steps = EngineSteps(request, report)
    walls = [steps.wall_ms() for _ in range(request.steps)]
    if OPERATOR_PROFILER in profilers:
        profiles.append(faster_half([profiled_step(steps.step) for _ in range(request.steps)]))
    timings = [
        [timing for profile in same for timing in profile.timings]
        for same in zip(*profiles, strict=True)
    ]
    return median_answer(walls, [one.wall_ms for one in profiles[0]], timings)


def under_onnxruntime(
    request: ProfilingRequest, report: Report
) -> tuple[EngineSteps, list[ProfiledStep]]:
    """Steps under ONNX Runtime's profiler, after an engine that takes further ones without it."""
    from workbench.ort.graph.profiles import profiled

    with temporary_folder() as folder:
        with profiled(folder):
            steps = EngineSteps(request, report)
        windows = [steps.window() for _ in range(request.steps)]
        timings = steps.engine.graph_timings(folder, windows)
    walls = [(window.end_ns - window.start_ns) / 1e6 for window in windows]
    if steps.engine.closed:
        steps = EngineSteps(request, report)
    return steps, [*map(ProfiledStep, timings, walls)]


def faster_half(steps: Sequence[ProfiledStep]) -> list[ProfiledStep]:
    """The steps of the shorter wall times: other programs on the machine only add to them."""
    return sorted(steps, key=lambda step: step.wall_ms)[: (len(steps) + 1) // 2]


def median_answer(
    walls: Sequence[float], profiled_walls: Sequence[float], timings: Sequence[list[Timing]]
) -> ProfilingAnswer:
    """The medians, that of `walls` over their faster half."""
    faster = sorted(walls)[: (len(walls) + 1) // 2]
    return ProfilingAnswer(median(faster), median(profiled_walls), tuple(median_times(timings)))


if __name__ == "__main__":
    serve(answer)

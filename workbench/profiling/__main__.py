"""`python -m workbench.profiling REQUEST.json`: profiles training steps of one engine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from workbench.child_process.child import serve
from workbench.files.temporary_folder import temporary_folder
from workbench.profiling.request import ProfilingAnswer, ProfilingRequest
from workbench.profiling.steps import EngineSteps
from workbench.profiling.torch_steps import ProfiledStep, profiled_step
from workbench.run_folder.operator_timing import Timing, median_times

Report = Callable[[str], None]


def answer(report: Report) -> None:
    """Profile the engine of the request and write the result.

    Raises:
        WorkbenchError: the engine cannot train this model.
    """
    request = ProfilingRequest.read(Path(sys.argv[1]))
    measure = {"ortmodule": of_ortmodule, "ondevice": of_ondevice}.get(
        request.config.engine, of_pytorch
    )
    measure(request, report).write(request.answer_path)


def of_pytorch(request: ProfilingRequest, report: Report) -> ProfilingAnswer:
    """Take steps without a profiler, then under PyTorch's profiler."""
    steps = EngineSteps(request, report)
    walls = [steps.wall_ms() for _ in range(request.steps)]
    found = faster_half([profiled_step(steps.step) for _ in range(request.steps)])
    return median_answer(walls, [one.wall_ms for one in found], [one.timings for one in found])


def of_ortmodule(request: ProfilingRequest, report: Report) -> ProfilingAnswer:
    """Take steps under ONNX Runtime's profiler, then without one, then under PyTorch's profiler.

    PyTorch's profiler times the operators outside of ONNX Runtime's graphs.
    """
    from workbench.ort.graph.profiles import profiled
    from workbench.ort.ortmodule.operator_profile import StepWindow, step_timings

    with temporary_folder() as folder:
        with profiled(folder):
            steps = EngineSteps(request, report)
        windows, profiled_walls = [], []
        for _ in range(request.steps):
            start_ns = time.time_ns()
            profiled_walls.append(steps.wall_ms())
            windows.append(StepWindow(start_ns, time.time_ns()))
        engine: Any = steps.engine
        timings = step_timings(engine.wrapped, windows)
    native = faster_half([*map(ProfiledStep, timings, profiled_walls)])
    walls = [steps.wall_ms() for _ in range(request.steps)]
    outside = faster_half([profiled_step(steps.step) for _ in range(request.steps)])
    both = [[*one.timings, *other.timings] for one, other in zip(native, outside, strict=True)]
    return median_answer(walls, [one.wall_ms for one in native], both)


def of_ondevice(request: ProfilingRequest, report: Report) -> ProfilingAnswer:
    """Take steps under ONNX Runtime's profiler, then without one in a new session."""
    from workbench.ort.graph.profiles import profiled
    from workbench.ort.ondevice.profile import step_timings

    with temporary_folder() as folder:
        with profiled(folder):
            steps = EngineSteps(request, report)
        profiled_walls = [steps.wall_ms() for _ in range(request.steps)]
        engine: Any = steps.engine
        engine.close()
        batches = request.config.gradient_accumulation
        timings = step_timings(folder, engine.training_model, request.steps, batches)
    native = faster_half([*map(ProfiledStep, timings, profiled_walls)])
    unprofiled = EngineSteps(request, report)
    walls = [unprofiled.wall_ms() for _ in range(request.steps)]
    return median_answer(walls, [one.wall_ms for one in native], [one.timings for one in native])


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

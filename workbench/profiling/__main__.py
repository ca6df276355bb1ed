"""`python -m workbench.profiling REQUEST.json`: profiles training steps of one engine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from workbench.child_process.child import serve
from workbench.data import Batch, Split, load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines import engine_class
from workbench.engines.base import EngineSetup
from workbench.files.temporary_folder import temporary_folder
from workbench.profiling.request import Answer, Request
from workbench.profiling.torch_steps import ProfiledStep, profiled_step
from workbench.run_folder.operator_timing import Timing, median_times
from workbench.settings.config import TrainingConfig

Report = Callable[[str], None]


def answer(report: Report) -> None:
    """Profile the engine of the request and write the result.

    Raises:
        WorkbenchError: the engine cannot train this model.
    """
    request = Request.read(Path(sys.argv[1]))
    measure = {"ortmodule": of_ortmodule, "ondevice": of_ondevice}.get(
        request.config.engine, of_pytorch
    )
    measure(request, report).write(request.answer_path)


class Steps:
    """An engine and its batches."""

    def __init__(self, request: Request, report: Report) -> None:
        """Build the engine and take the warm-up steps."""
        config = request.config
        split = load_saved_dataset(request.data).train
        self.engine = engine_class(config.engine)(
            EngineSetup(
                model_path=request.model,
                artifacts_path=request.artifacts_path,
                config=config,
                report=report,
                targets=target_specs(split.targets),
            )
        )
        self._batches = endless(split, config)
        self._accumulation = config.gradient_accumulation
        report("warming up")
        for _ in range(max(1, config.warmup_steps)):
            self.step()
        report("timing")

    def step(self) -> None:
        """Take a step with the next batch, or with those whose gradients it averages."""
        for _ in range(self._accumulation - 1):
            self.engine.accumulate(next(self._batches))
        self.engine.train_step(next(self._batches))

    def wall_ms(self) -> float:
        """Take a step and return its duration in milliseconds."""
        started = time.perf_counter()
        self.step()
        return 1e3 * (time.perf_counter() - started)


def of_pytorch(request: Request, report: Report) -> Answer:
    """Take steps without a profiler, then under PyTorch's profiler."""
    steps = Steps(request, report)
    walls = [steps.wall_ms() for _ in range(request.steps)]
    found = faster_half([profiled_step(steps.step) for _ in range(request.steps)])
    return median_answer(walls, [one.wall_ms for one in found], [one.timings for one in found])


def of_ortmodule(request: Request, report: Report) -> Answer:
    """Take steps under ONNX Runtime's profiler, then without one, then under PyTorch's profiler.

    PyTorch's profiler times what runs outside of ONNX Runtime's graphs.
    """
    from workbench.ort.graph.profiles import profiled
    from workbench.ort.ortmodule.operator_profile import Window, step_timings

    with temporary_folder() as folder:
        with profiled(folder):
            steps = Steps(request, report)
        windows, profiled_walls = [], []
        for _ in range(request.steps):
            start_ns = time.time_ns()
            profiled_walls.append(steps.wall_ms())
            windows.append(Window(start_ns, time.time_ns()))
        engine: Any = steps.engine
        timings = step_timings(engine.wrapped, windows)
    native = faster_half([*map(ProfiledStep, timings, profiled_walls)])
    walls = [steps.wall_ms() for _ in range(request.steps)]
    outside = faster_half([profiled_step(steps.step) for _ in range(request.steps)])
    both = [[*one.timings, *other.timings] for one, other in zip(native, outside, strict=True)]
    return median_answer(walls, [one.wall_ms for one in native], both)


def of_ondevice(request: Request, report: Report) -> Answer:
    """Take steps under ONNX Runtime's profiler, then without one in a new session."""
    from workbench.ort.graph.profiles import profiled
    from workbench.ort.ondevice.profile import step_timings

    with temporary_folder() as folder:
        with profiled(folder):
            steps = Steps(request, report)
        profiled_walls = [steps.wall_ms() for _ in range(request.steps)]
        engine: Any = steps.engine
        engine.close()
        batches = request.config.gradient_accumulation
        timings = step_timings(folder, engine.training_model, request.steps, batches)
    native = faster_half([*map(ProfiledStep, timings, profiled_walls)])
    unprofiled = Steps(request, report)
    walls = [unprofiled.wall_ms() for _ in range(request.steps)]
    return median_answer(walls, [one.wall_ms for one in native], [one.timings for one in native])


def faster_half(steps: Sequence[ProfiledStep]) -> list[ProfiledStep]:
    """The steps of the shorter wall times: what else runs on the machine only adds to them."""
    return sorted(steps, key=lambda step: step.wall_ms)[: (len(steps) + 1) // 2]


def median_answer(
    walls: Sequence[float], profiled_walls: Sequence[float], timings: Sequence[list[Timing]]
) -> Answer:
    """The medians, that of `walls` over their faster half."""
    faster = sorted(walls)[: (len(walls) + 1) // 2]
    return Answer(median(faster), median(profiled_walls), tuple(median_times(timings)))


def endless(split: Split, config: TrainingConfig) -> Iterator[Batch]:
    """Training batches, epoch after epoch."""
    epoch = 0
    while True:
        epoch += 1
        yield from split.batches(config.batch_size, config.seed, epoch)


if __name__ == "__main__":
    serve(answer)

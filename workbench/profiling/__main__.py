"""`python -m workbench.profiling REQUEST.json`: what the operators of one engine's step take.

A process of its own, as every training is.
"""

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
from workbench.profiling.torch_steps import profiled_step
from workbench.run_folder.operator_timing import Timing, median_times
from workbench.settings.config import TrainingConfig

Report = Callable[[str], None]


def answer(report: Report) -> None:
    """Profile what the request asks for and write it down.

    Raises:
        WorkbenchError: the engine cannot train this model.
    """
    request = Request.read(Path(sys.argv[1]))
    measure = {"ortmodule": of_ortmodule, "ondevice": of_ondevice}.get(
        request.config.engine, of_pytorch
    )
    measure(request, report).write(request.answer_path)


class Steps:
    """An engine and the batches that it is fed, one step at a time."""

    def __init__(self, request: Request, report: Report) -> None:
        """Build the engine and take the steps of the warm-up."""
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
        report("warming up")
        for _ in range(max(1, config.warmup_steps)):
            self.step()
        report("timing")

    def step(self) -> None:
        """Feed the next batch and take a step."""
        self.engine.train_step(next(self._batches))

    def wall_ms(self) -> float:
        """Milliseconds that a step takes."""
        started = time.perf_counter()
        self.step()
        return 1e3 * (time.perf_counter() - started)


def of_pytorch(request: Request, report: Report) -> Answer:
    """Steps without a profiler, then under PyTorch's."""
    steps = Steps(request, report)
    walls = [steps.wall_ms() for _ in range(request.steps)]
    found = [profiled_step(steps.step) for _ in range(request.steps)]
    timings = [one.timings for one in found]
    return made_of(walls, [one.wall_ms for one in found], timings)


def of_ortmodule(request: Request, report: Report) -> Answer:
    """Steps under ONNX Runtime's profiler, then without, then under PyTorch's.

    The last tell of what PyTorch runs beside ONNX Runtime's passes.
    """
    from workbench.ort.graph.profiles import profiled
    from workbench.ort.ortmodule.profile import Window, step_timings

    with temporary_folder() as folder:
        with profiled(folder):
            steps = Steps(request, report)
        windows, profiled_walls = [], []
        for _ in range(request.steps):
            start_ns = time.time_ns()
            profiled_walls.append(steps.wall_ms())
            windows.append(Window(start_ns, time.time_ns()))
        engine: Any = steps.engine
        native = step_timings(engine.wrapped, windows)
    walls = [steps.wall_ms() for _ in range(request.steps)]
    beside = [profiled_step(steps.step).timings for _ in range(request.steps)]
    both = [[*one, *other] for one, other in zip(native, beside, strict=True)]
    return made_of(walls, profiled_walls, both)


def of_ondevice(request: Request, report: Report) -> Answer:
    """Steps under ONNX Runtime's profiler, then without, in a session of their own."""
    from workbench.artifacts import Artifacts
    from workbench.ort.graph.profiles import profiled
    from workbench.ort.ondevice.profile import step_timings

    with temporary_folder() as folder:
        with profiled(folder):
            steps = Steps(request, report)
        profiled_walls = [steps.wall_ms() for _ in range(request.steps)]
        engine: Any = steps.engine
        engine.close()
        model = Artifacts.load(request.artifacts_path).training_model
        native = step_timings(folder, model, request.steps)
    again = Steps(request, report)
    return made_of([again.wall_ms() for _ in range(request.steps)], profiled_walls, native)


def made_of(
    walls: list[float], profiled_walls: list[float], timings: Sequence[list[Timing]]
) -> Answer:
    """The medians."""
    return Answer(median(walls), median(profiled_walls), tuple(median_times(timings)))


def endless(split: Split, config: TrainingConfig) -> Iterator[Batch]:
    """Batches in the order of a training, epoch after epoch."""
    epoch = 0
    while True:
        epoch += 1
        yield from split.batches(config.batch_size, config.seed, epoch)


if __name__ == "__main__":
    serve(answer)

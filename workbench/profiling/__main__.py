"""`python -m workbench.profiling REQUEST.json`: what the operators of one engine's step take.

A process of its own, as every training is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from workbench.child import serve
from workbench.config import TrainingConfig
from workbench.data import Batch, Split, load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines import engine_class
from workbench.engines.base import EngineSetup
from workbench.operator_timing import Timing, median_times
from workbench.profiling.request import Answer, Request
from workbench.profiling.torch_steps import profiled_step

if TYPE_CHECKING:
    from workbench.ort.ortmodule import ORTModule

Report = Callable[[str], None]
Step = Callable[[], object]


def answer(report: Report) -> None:
    """Profile what the request asks for and write it down.

    Raises:
        WorkbenchError: the engine cannot train this model.
    """
    request = Request.read(Path(sys.argv[1]))
    config = request.config
    split = load_saved_dataset(request.data).train
    with ExitStack() as stack:
        if config.engine == "ortmodule":
            from workbench.ort.ortmodule.observation import profiled

            folder = stack.enter_context(TemporaryDirectory(prefix="workbench-profile-"))
            stack.enter_context(profiled(Path(folder)))
        engine = engine_class(config.engine)(
            EngineSetup(
                model_path=request.model,
                artifacts_path=request.work / "artifacts",
                config=config,
                report=report,
                targets=target_specs(split.targets),
            )
        )
        batches = endless(split, config)

        def step() -> object:
            return engine.train_step(next(batches))

        report("warming up")
        for _ in range(max(1, config.warmup_steps)):
            step()
        report("profiling")
        if config.engine == "ortmodule":
            of_ortmodule(engine.wrapped, step, request.steps).write(request.answer_path)  # type: ignore[attr-defined]
        else:
            of_pytorch(step, request.steps).write(request.answer_path)


def of_pytorch(step: Step, steps: int) -> Answer:
    """Steps without a profiler, then under PyTorch's."""
    walls = [wall_ms(step) for _ in range(steps)]
    found = [profiled_step(step) for _ in range(steps)]
    return Answer(
        wall_ms=median(walls),
        profiled_wall_ms=median(one.wall_ms for one in found),
        times=tuple(median_times([one.timings for one in found])),
    )


def of_ortmodule(module: ORTModule, step: Step, steps: int) -> Answer:
    """Steps under ONNX Runtime's profiler, then without, then under PyTorch's.

    The last tell of what PyTorch runs beside ONNX Runtime's passes.
    """
    from workbench.ort.ortmodule.profile import Window, step_timings

    windows, profiled_walls = [], []
    for _ in range(steps):
        start_ns = time.time_ns()
        profiled_walls.append(wall_ms(step))
        windows.append(Window(start_ns, time.time_ns()))
    native = step_timings(module, windows)
    walls = [wall_ms(step) for _ in range(steps)]
    beside = [profiled_step(step).timings for _ in range(steps)]
    both: list[list[Timing]] = [[*one, *other] for one, other in zip(native, beside, strict=True)]
    return Answer(
        wall_ms=median(walls),
        profiled_wall_ms=median(profiled_walls),
        times=tuple(median_times(both)),
    )


def wall_ms(step: Step) -> float:
    """Milliseconds that `step` takes."""
    started = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - started)


def endless(split: Split, config: TrainingConfig) -> Iterator[Batch]:
    """Batches in the order of a training, epoch after epoch."""
    epoch = 0
    while True:
        epoch += 1
        yield from split.batches(config.batch_size, config.seed, epoch)


if __name__ == "__main__":
    serve(answer)

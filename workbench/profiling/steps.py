"""Steps of an engine in this process, one at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from workbench.data import Batch, Split, load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines import engine_class
from workbench.engines.base import Engine, EngineSetup
from workbench.profiling.request import ProfilingRequest
from workbench.run_folder.operator_timing import StepWindow
from workbench.settings.config import TrainingConfig


class EngineSteps:
    """An engine and its batches."""

    def __init__(
        self,
        request: ProfilingRequest,
        report: Callable[[str], None],
        before: Callable[[Engine, Batch], None] | None = None,
    ) -> None:
        """Build the engine and take the warm-up steps.

        Args:
            request: the engine's settings, its model and data.
            report: called with the text of each phase.
            before: called with the engine and the first batch before the first step.
        """
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
        if before is not None:
            before(self.engine, next(endless(split, config)))
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

    def window(self) -> StepWindow:
        """Take a step and return when it ran."""
        start_ns = time.time_ns()
        self.step()
        return StepWindow(start_ns, time.time_ns())

    def wall_ms(self) -> float:
        """Take a step and return its duration in milliseconds."""
        started = time.perf_counter()
        self.step()
        return 1e3 * (time.perf_counter() - started)


def endless(split: Split, config: TrainingConfig) -> Iterator[Batch]:
    """Training batches, epoch after epoch."""
    epoch = 0
    while True:
        epoch += 1
        yield from split.batches(config.batch_size, config.seed, epoch)

"""The training loop that every engine runs in."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import NamedTuple

from workbench.data import Batch, Dataset
from workbench.display.number_format import loss_text
from workbench.engines.base import Engine, ParameterNorms
from workbench.errors import EngineError
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress
from workbench.run_folder.worst_predictions import write_worst_predictions
from workbench.settings.config import TrainingConfig
from workbench.settings.learning_rate import is_constant, learning_rate_at
from workbench.worker.batch_order import batches_after
from workbench.worker.checkpointer import Checkpointer
from workbench.worker.control import Control
from workbench.worker.evaluation import EvaluationResult, evaluate
from workbench.worker.layer_recorder import LayerRecorder
from workbench.worker.load_recorder import LoadRecorder
from workbench.worker.memory import ResidentSets
from workbench.worker.recorder import StepRecorder


class LoopResult(NamedTuple):
    """How the loop ended."""

    status: str
    """`completed`, `stopped` or `interrupted`."""
    steps: int
    evaluation: EvaluationResult | None
    reason: str = ""
    """Why a completed run took fewer steps than planned, else empty."""


class NonFiniteLossError(EngineError):
    """The loss became NaN or infinite."""


class TrainingLoop:
    """Trains until all steps are done, a stop is requested, or the loss is not finite.

    A step is: copy the batch, forward, backward, optimizer step, zero the gradients, read the loss;
    with gradient accumulation several batches. The last evaluation and checkpoint need the grant of
    one more step: in a comparison they would disturb the engines that are still training.
    """

    def __init__(
        self,
        folder: RunFolder,
        engine: Engine,
        dataset: Dataset,
        config: TrainingConfig,
        control: Control,
        events: EventWriter,
        progress: TrainingProgress,
        resident_sets: ResidentSets | None = None,
    ) -> None:
        self._engine = engine
        self._dataset = dataset
        self._config = config
        self._control = control
        self._events = events
        self._progress = progress
        self._steps_per_epoch = len(dataset.train) // config.samples_per_step
        self._total_steps = config.total_steps(len(dataset.train))
        self._evaluation: EvaluationResult | None = None
        resident_sets = resident_sets or ResidentSets()
        self._recorder = StepRecorder(
            events, config.samples_per_step, self._steps_per_epoch, progress.step, resident_sets
        )
        self._load = LoadRecorder(events, config.warmup_steps, resident_sets.pids)
        self._checkpointer = Checkpointer(folder, engine, events, config, self._recorder.flush)
        self._layers = LayerRecorder(events, config.layer_statistics_every)
        self._folder = folder
        self._accumulation = config.gradient_accumulation
        self._has_schedule = not is_constant(config)
        self._answered_saves = 0

    def run(self) -> LoopResult:
        """Train.

        Raises:
            NonFiniteLossError: names the step; the last checkpoint with finite weights is kept.
            OSError: the run folder cannot be written.
        """
        try:
            return self._take_steps()
        finally:
            # Where a step fails, those before it are recorded.
            self._record()

    def _take_steps(self) -> LoopResult:
        self._checkpointer.save(self._progress)
        self._save_if_requested()
        ended = self._after_step() if self._progress.step else None
        if ended is not None:
            return ended
        batches = batches_after(self._dataset.train, self._config, self._progress.step)
        self._measure_load()
        while self._progress.step < self._total_steps:
            if not self._control.may_step(self._progress.step) and not self._wait():
                return self._end(self._control.end_status)
            self._step(batches)
            ended = self._after_step()
            if ended is not None:
                return ended
        return self._end("completed")

    def _after_step(self) -> LoopResult | None:
        """Evaluate and save where it is due. Returns the result if the run stops early, else None.

        A resumed run begins with it: it may have been stopped before this evaluation.
        """
        progress = self._progress
        epoch_ended = progress.step % self._steps_per_epoch == 0
        if progress.step == self._total_steps:
            self._wait_to_finish()
        if self._evaluates_now(epoch_ended) and progress.evaluated_step != progress.step:
            self._evaluate()
            if self._has_stopped_improving():
                return self._end("completed", self._no_lower_loss())
        self._checkpointer.save_if_due(progress, epoch_ended)
        self._save_if_requested()
        return None

    def _step(self, batches: Iterator[Batch]) -> None:
        if self._has_schedule:
            self._engine.set_learning_rate(
                learning_rate_at(self._config, self._progress.step, self._total_steps)
            )
        started_ns = time.perf_counter_ns()
        loss = 0.0
        for _ in range(self._accumulation - 1):
            loss += self._engine.accumulate(next(batches))
        observed: dict[str, ParameterNorms] | None = None
        if self._layers.is_due(self._progress.step + 1):
            last, observed = self._engine.observed_step(next(batches))
        else:
            last = self._engine.train_step(next(batches))
        loss = (loss + last) / self._accumulation
        self._recorder.add(loss, started_ns, time.perf_counter_ns())
        self._progress.step = step = self._recorder.done_steps
        self._load.step_ended(step)
        if observed is not None:
            self._layers.add(step, observed)
        if not math.isfinite(loss):
            raise NonFiniteLossError(
                f"The loss is {loss} at step {step}. Lower the learning rate "
                f"(it was {self._config.learning_rate:g}) or look for extreme values in the data."
            )

    def _evaluates_now(self, epoch_ended: bool) -> bool:
        config = self._config
        if not config.evaluate or self._dataset.test is None:
            return False
        if self._progress.step == self._total_steps:
            return True
        if config.evaluate_every is None:
            return epoch_ended
        return self._progress.step % config.evaluate_every == 0

    def _evaluate(self) -> None:
        """Evaluate the test split, unless a stop is requested."""
        assert self._dataset.test is not None
        self._recorder.flush()
        found = evaluate(
            self._engine, self._dataset.test, self._config, self._control.stop_requested
        )
        if found is None:
            return
        self._evaluation = found
        self._progress.add_evaluation(found.loss)
        step = self._progress.step
        if found.worst is not None:
            # Before the event, on which clients read them.
            rows = found.worst.records()
            write_worst_predictions(self._folder, step, found.worst.kind, rows)
        epoch = (step - 1) // self._steps_per_epoch + 1
        self._events.write("evaluation", step=step, epoch=epoch, **found.record())

    def _has_stopped_improving(self) -> bool:
        patience = self._config.early_stopping
        return patience is not None and self._progress.evaluations_since >= patience

    def _no_lower_loss(self) -> str:
        progress = self._progress
        if progress.best_loss is None:
            since = progress.evaluations_since
            return f"Stopped early: the test loss was not finite in the last {since} evaluations."
        return (
            f"Stopped early: the test loss was lowest, {loss_text(progress.best_loss)}, after step "
            f"{progress.best_step}, {progress.evaluations_since} evaluations ago."
        )

    def _save_if_requested(self) -> None:
        requested = self._control.requested_saves()
        if requested != self._answered_saves:
            self._answered_saves = requested
            self._recorder.flush()
            saved = self._checkpointer.save(self._progress)
            self._events.write("saved", step=self._progress.step, request=requested, finite=saved)

    def _measure_load(self) -> None:
        """But not between the turns of a comparison, which measures it itself: it takes some
        milliseconds."""
        step, total_steps = self._progress.step, self._total_steps
        if step < total_steps and self._control.grants_all(total_steps):
            self._load.start(step)

    def _record(self) -> None:
        """Record the steps so far, and the load during them."""
        self._recorder.flush()
        self._load.stop(self._progress.step)

    def _end(self, status: str, reason: str = "") -> LoopResult:
        self._record()
        self._checkpointer.save(self._progress)
        return LoopResult(status, self._progress.step, self._evaluation, reason)

    def _wait_to_finish(self) -> None:
        """Wait for the grant to finish; a stop request then only skips the evaluation."""
        if not self._control.may_step(self._total_steps):
            self._wait()

    def _wait(self) -> bool:
        """Wait until the next step may be taken; False if a stop is requested instead."""
        self._record()
        step, control = self._progress.step, self._control
        if not control.granted():
            self._events.write("waiting", step=step)
        paused = False
        while not control.may_step(step):
            if control.stop_requested():
                return False
            if control.pause_requested() != paused:
                paused = not paused
                self._events.write("paused" if paused else "resumed")
            self._save_if_requested()
            control.wait()
        if paused:
            self._events.write("resumed")
        self._measure_load()
        return True

"""The training loop that every engine runs in."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from workbench.data import Dataset
from workbench.engines.base import Engine
from workbench.errors import EngineError
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.config import TrainingConfig
from workbench.worker.checkpointer import Checkpointer
from workbench.worker.control import Control
from workbench.worker.evaluation import EvaluationResult, evaluate
from workbench.worker.recorder import StepRecorder


class LoopResult(NamedTuple):
    """How the loop ended."""

    status: str
    """`completed`, `stopped` or `interrupted`."""
    steps: int
    evaluation: EvaluationResult | None


class NonFiniteLossError(EngineError):
    """The loss became NaN or infinite; training on would only spread it."""


def train(
    folder: RunFolder,
    engine: Engine,
    dataset: Dataset,
    config: TrainingConfig,
    control: Control,
    events: EventWriter,
) -> LoopResult:
    """Train until the steps are done, a watcher wants a stop, or the loss is no number.

    A step is: feed the batch, forward, backward, optimizer step, gradient reset, loss read back.
    What comes after the last step, evaluation and checkpoint, waits until one step more is granted:
    in a comparison it would disturb the engines that still train.

    Raises:
        NonFiniteLossError: names the step; the last good checkpoint stays.
        OSError: the run folder cannot be written.
    """
    steps_per_epoch = len(dataset.train) // config.batch_size
    total_steps = config.steps or config.epochs * steps_per_epoch
    recorder = StepRecorder(events, config.batch_size, steps_per_epoch)
    checkpointer = Checkpointer(folder, engine, events)
    evaluation: EvaluationResult | None = None

    checkpointer.save(0)
    epoch = 0
    while recorder.done_steps < total_steps:
        epoch += 1
        batches = dataset.train.batches(config.batch_size, config.seed, epoch)
        while recorder.done_steps < total_steps:
            if not control.may_step(recorder.done_steps):
                recorder.flush()
                if not wait_for_grant(recorder.done_steps, control, events):
                    checkpointer.save(recorder.done_steps)
                    return LoopResult(control.end_status, recorder.done_steps, evaluation)

            started_ns = time.perf_counter_ns()
            batch = next(batches, None)
            if batch is None:
                break
            loss = engine.train_step(batch)
            recorder.add(loss, started_ns, time.perf_counter_ns())

            if not math.isfinite(loss):
                recorder.flush()
                raise NonFiniteLossError(
                    f"The loss is {loss} at step {recorder.done_steps}. Lower the learning rate "
                    f"(now {config.learning_rate:g}) or look for extreme values in the data."
                )

        if recorder.done_steps == total_steps and not control.may_step(total_steps):
            recorder.flush()
            # A stop comes too late here: every step is done, and only the evaluation is left out.
            wait_for_grant(total_steps, control, events)
        checkpointer.save_if_due(recorder.done_steps)
        if config.evaluate and dataset.test is not None:
            recorder.flush()
            evaluation = evaluate(engine, dataset.test, config, control.stop_wanted)
            if evaluation is None:
                continue
            events.write(
                "evaluation",
                step=recorder.done_steps,
                epoch=epoch,
                **evaluation.record(),
            )
    recorder.flush()
    checkpointer.save(recorder.done_steps)
    return LoopResult("completed", recorder.done_steps, evaluation)


def wait_for_grant(done_steps: int, control: Control, events: EventWriter) -> bool:
    """Wait until the next step may be taken; False when a stop is wanted instead."""
    if not control.granted():
        events.write("waiting", step=done_steps)
    paused = False
    while not control.may_step(done_steps):
        if control.stop_wanted():
            return False
        if control.pause_wanted() != paused:
            paused = not paused
            events.write("paused" if paused else "resumed")
        control.wait()
    if paused:
        events.write("resumed")
    return True

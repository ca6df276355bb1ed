"""The rounds of a federated run: Flower's strategy, and the records of the run after each round."""

from __future__ import annotations

import random
import time

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, MetricRecord

from workbench.data import Dataset
from workbench.engines.ondevice import OnDeviceEngine
from workbench.flower.client_messages import array_record
from workbench.flower.epsilon import PrivacyLedger
from workbench.flower.grid import ClientGrid
from workbench.flower.round_record import RoundRecord
from workbench.flower.strategies import make_strategy
from workbench.run_folder.events import EventWriter, finite_or_none
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress
from workbench.settings.config import TrainingConfig
from workbench.settings.federation import FederationOptions
from workbench.worker.checkpointer import Checkpointer
from workbench.worker.control import Control
from workbench.worker.evaluation import EvaluationResult, evaluate
from workbench.worker.loop import LoopResult
from workbench.worker.memory import rss_bytes


class _EndedEarlyError(Exception):
    """Leaves Flower's loop after a stop request."""


class FederatedTraining:
    """Trains in rounds; a step of the run is a round.

    The engine holds the global weights: it evaluates them on the test split and writes checkpoints.
    """

    def __init__(
        self,
        folder: RunFolder,
        engine: OnDeviceEngine,
        dataset: Dataset,
        config: TrainingConfig,
        options: FederationOptions,
        control: Control,
        events: EventWriter,
        grid: ClientGrid,
    ) -> None:
        self._engine = engine
        self._dataset = dataset
        self._config = config
        self._options = options
        self._control = control
        self._events = events
        self._progress = TrainingProgress()
        self._evaluation: EvaluationResult | None = None
        self._checkpointer = Checkpointer(folder, engine, events, config, lambda: None)
        self._grid = grid
        weights = engine.weights()
        self._initial = {name: weights[name] for name in engine.trainable}
        self._ledger = PrivacyLedger(options.clients)
        self._clipping_norm = options.clipping_norm
        self._round_started_ns = 0

    def run(self) -> LoopResult:
        """Run all rounds, unless a stop is requested.

        Raises:
            ConfigError: Flower refuses an option of the strategy.
            OSError: the run folder cannot be written.
        """
        strategy = self._strategy = make_strategy(self._options)
        self._checkpointer.save(self._progress)
        # Flower draws the clients of a round by Python's generator.
        random.seed(self._config.seed)
        status = "completed"
        try:
            strategy.start(
                self._grid,
                array_record(self._initial),
                num_rounds=self._options.rounds,
                timeout=self._options.round_timeout_s,
                train_config=ConfigRecord(),
                evaluate_config=ConfigRecord(),
                evaluate_fn=self._after_round,
            )
        except _EndedEarlyError:
            status = self._control.end_status
        self._checkpointer.save(self._progress)
        return LoopResult(status, self._progress.step, self._evaluation)

    def _after_round(self, number: int, arrays: ArrayRecord) -> MetricRecord | None:
        """Flower's evaluation by the server: evaluate and record, then wait for the next round.

        Before the first round it is called with 0.
        """
        if self._control.stop_requested():
            # Clients were cut off: what came back of this round is not a whole one.
            raise _EndedEarlyError
        if number:
            self._record_round(number, arrays)
        if number < self._options.rounds:
            self._wait_for_grant(number)
            self._grid.begin_round(number + 1)
        self._round_started_ns = time.perf_counter_ns()
        return None

    def _record_round(self, number: int, arrays: ArrayRecord) -> None:
        weights = {name: array.numpy().astype(np.float32) for name, array in arrays.items()}
        self._engine.load_weights({**weights, **self._grid.statistics})
        record = self._grid.record
        elapsed_ns = time.perf_counter_ns() - self._round_started_ns
        self._events.write(
            "steps",
            first_step=number,
            losses=finite_or_none([record.loss]),
            nanoseconds=[elapsed_ns],
            batch_size=max(1, record.samples),
            steps_per_epoch=1,
            rss_bytes=rss_bytes(),
        )
        self._progress.step = number
        self._account(record)
        self._events.write("round", **record.event())
        self._evaluate(number)
        self._checkpointer.save_if_due(self._progress, epoch_ended=True)

    def _account(self, record: RoundRecord) -> None:
        """Record how much privacy is spent, and the norm that updates were clipped to."""
        options = self._options
        if options.privacy is None:
            return
        if record.trained:
            # By the server the noise hides whether a client takes part, by a client which of two
            # updates it has: they may be twice the norm apart.
            apart = 1 if options.privacy == "central" else 2
            self._ledger.add(self._grid.selected, options.noise_multiplier / apart)
        record.privacy = {
            "epsilon": self._ledger.epsilon(options.delta),
            "clipping_norm": self._clipping_norm,
        }
        # Adapted for the next round.
        self._clipping_norm = getattr(self._strategy, "clipping_norm", options.clipping_norm)

    def _evaluate(self, number: int) -> None:
        config, test = self._config, self._dataset.test
        last = number == self._options.rounds
        due = last or number % (config.evaluate_every or 1) == 0
        if test is None or not config.evaluate or not due:
            return
        found = evaluate(self._engine, test, config, self._control.stop_requested)
        if found is not None:
            self._evaluation = found
            self._events.write("evaluation", step=number, epoch=number, **found.record())

    def _wait_for_grant(self, done: int) -> None:
        """Wait while the run is paused.

        Raises:
            _EndedEarlyError: a stop is requested.
        """
        paused = False
        while not self._control.may_step(done):
            if self._control.stop_requested():
                raise _EndedEarlyError
            if self._control.pause_requested() != paused:
                paused = not paused
                self._events.write("paused" if paused else "resumed")
            self._control.wait()
        if paused:
            self._events.write("resumed")

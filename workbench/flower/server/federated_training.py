"""The rounds of a federated run: Flower's strategy, and the records of the run after each round."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from flwr.app import ConfigRecord, Message

from workbench.data import Dataset
from workbench.engines.ondevice.engine import OnDeviceEngine
from workbench.errors import EngineError
from workbench.flower.client.client_messages import array_record
from workbench.flower.grids.grid import ClientGrid
from workbench.flower.round_record import RoundRecord
from workbench.flower.server.epsilon import PrivacyAccountant
from workbench.flower.server.server_state import restore_server_state, save_server_state
from workbench.flower.server.strategies import make_strategy
from workbench.run_folder.checkpoint import all_finite
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.step_columns import written_losses
from workbench.run_folder.training_progress import TrainingProgress
from workbench.settings.config import TrainingConfig
from workbench.settings.federation import FederationOptions
from workbench.worker.checkpointer import Checkpointer
from workbench.worker.control import Control
from workbench.worker.evaluation import EvaluationResult, evaluate
from workbench.worker.loop import LoopResult, NonFiniteLossError
from workbench.worker.memory import rss_bytes


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
        self._checkpointer = Checkpointer(folder, self, events, config, lambda: None)
        self._grid = grid
        self._strategy = make_strategy(options)
        self._accountant = PrivacyAccountant(options.clients)
        self._clipping_norm = options.clipping_norm
        self._round_started_ns = 0
        self._trained = False
        """Whether an update of a client was used, before a resumption too."""
        weights = engine.weights()
        self._global = {name: weights[name] for name in engine.trainable}

    def restore(self, checkpoint: Path, progress: TrainingProgress) -> None:
        """Continue from a checkpoint, whose weights the engine has.

        Raises:
            RunFolderError: the state of the server is missing or corrupt.
        """
        found, self._trained = restore_server_state(checkpoint, self._strategy, self._accountant)
        # Flower goes by position.
        self._global = {name: found[name] for name in self._global}
        self._clipping_norm = self._norm()
        self._progress = progress

    def weights(self) -> dict[str, np.ndarray]:
        """For a checkpoint: those of the engine."""
        return self._engine.weights()

    def save_state(self, folder: Path) -> None:
        """For a checkpoint: what else the next round depends on."""
        save_server_state(folder, self._global, self._strategy, self._accountant, self._trained)

    def run(self) -> LoopResult:
        """Run the rounds that are left, unless a stop is requested.

        Raises:
            NonFiniteLossError: the strategy made weights that are not finite.
            EngineError: all rounds are done, and none used an update of a client.
            OSError: the run folder cannot be written.
        """
        self._checkpointer.save(self._progress)
        status = "completed"
        first = self._progress.step + 1
        for number in range(first, self._options.rounds + 1):
            # Strategies replace what they keep between rounds, and change none of it in place.
            weights, kept = self._global, dict(vars(self._strategy))
            if not self._wait_for_grant(number - 1) or not self._round(number):
                # A round that is cut off has no effect: the checkpoint is of the one before.
                self._global = weights
                vars(self._strategy).update(kept)
                status = self._control.end_status
                break
        self._checkpointer.save(self._progress)
        if status == "completed" and not self._trained:
            self._refuse_untrained()
        return LoopResult(status, self._progress.step, self._evaluation)

    def _round(self, number: int) -> bool:
        """Have clients train, aggregate and evaluate; whether it is a whole round.

        This is the loop of Flower's `Strategy.start`, which can only begin with the first round.
        """
        self._round_started_ns = time.perf_counter_ns()
        # Flower draws the clients of a round by Python's generator.
        random.seed(f"{self._config.seed}-{number}")
        self._grid.begin_round(number)
        strategy, grid = self._strategy, self._grid
        messages = strategy.configure_train(
            number, array_record(self._global), ConfigRecord(), grid
        )
        found, _ = strategy.aggregate_train(number, self._exchange(messages))
        if self._control.stop_requested():
            # Clients were cut off: what came back of this round is not a whole one.
            return False
        if found is not None:
            self._global = {name: array.numpy() for name, array in found.items()}
        self._refuse_not_finite(number)
        self._exchange(
            strategy.configure_evaluate(number, array_record(self._global), ConfigRecord(), grid)
        )
        if self._control.stop_requested():
            return False
        self._record_round(number)
        return True

    def _exchange(self, messages: Iterable[Message]) -> Iterable[Message]:
        return self._grid.send_and_receive(messages, timeout=self._options.round_timeout_s)

    def _refuse_not_finite(self, number: int) -> None:
        if not all_finite(self._in_float32()):
            given = ", ".join(f"{n}={v:g}" for n, v in self._options.strategy_options.items())
            raise NonFiniteLossError(
                f"strategy={self._options.strategy!r} made weights that are not finite in round "
                f"{number}. Lower its rates ({given or 'all are defaults'}) or the learning rate "
                f"of the clients (now {self._config.learning_rate:g})."
            )

    def _refuse_untrained(self) -> None:
        record = self._grid.record
        left_out = record.left_out()
        example = f", client {left_out[0]}: {record.reason(left_out[0])}" if left_out else "."
        raise EngineError(
            f"The model is unchanged: in none of {self._options.rounds} rounds was an update of a "
            f"client used. In the last one {len(left_out)} of {self._options.clients} clients were "
            f"left out{example}"
        )

    def _in_float32(self) -> dict[str, np.ndarray]:
        with np.errstate(over="ignore"):
            return {name: value.astype(np.float32) for name, value in self._global.items()}

    def _record_round(self, number: int) -> None:
        self._engine.load_weights({**self._in_float32(), **self._grid.statistics})
        record = self._grid.record
        self._trained = self._trained or record.trained
        elapsed_ns = time.perf_counter_ns() - self._round_started_ns
        self._events.write(
            "steps",
            first_step=number,
            losses=written_losses([record.loss]),
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
        # By the server the noise hides whether an update counts or is zero, by a client which of
        # two updates it has: they may be twice the norm apart.
        if options.privacy == "local":
            # The server has seen what clients sent, also where it could not use it.
            self._accountant.add(self._grid.selected, options.noise_multiplier / 2)
        elif record.trained:
            self._accountant.add(self._grid.selected, options.noise_multiplier)
        record.privacy = {
            "epsilon": self._accountant.epsilon(options.delta),
            "clipping_norm": self._clipping_norm,
        }
        # Adapted for the next round.
        self._clipping_norm = self._norm()

    def _norm(self) -> float:
        norm: float = getattr(self._strategy, "clipping_norm", self._options.clipping_norm)
        return norm

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

    def _wait_for_grant(self, done: int) -> bool:
        """Wait while the run is paused; False if a stop is requested instead."""
        paused = False
        while not self._control.may_step(done):
            if self._control.stop_requested():
                return False
            if self._control.pause_requested() != paused:
                paused = not paused
                self._events.write("paused" if paused else "resumed")
            self._control.wait()
        if paused:
            self._events.write("resumed")
        return True

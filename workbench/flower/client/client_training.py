"""A client's work in a round: trains the global weights with its rows, or evaluates them.

It needs neither torch nor Flower. A client begins each round with the global weights and a new
optimizer: it keeps no state.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.data import Dataset, Split
from workbench.data.target_specs import target_specs
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice.engine import OnDeviceEngine
from workbench.flower.client.withheld_errors import withheld_errors
from workbench.settings.config import TrainingConfig
from workbench.settings.federation import FederationOptions
from workbench.settings.learning_rate import learning_rate_at
from workbench.worker.evaluation import evaluate
from workbench.worker.memory import peak_rss_bytes


class ClientReply(NamedTuple):
    """Reply of a client."""

    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]


class ClientTraining:
    """Trains and evaluates as any client of a run."""

    def __init__(
        self,
        model_path: Path,
        artifacts_path: Path,
        config: TrainingConfig,
        options: FederationOptions,
    ) -> None:
        self._model_path = model_path
        self._artifacts_path = artifacts_path
        self._config = config
        self._options = options

    def train(
        self,
        client: int,
        data: Dataset,
        weights: Mapping[str, np.ndarray],
        *,
        round_number: int,
        proximal_mu: float = 0.0,
    ) -> ClientReply:
        """Train as long as the settings of the run say.

        Args:
            client: its number; the order of its rows is drawn by it.
            data: its rows.
            weights: the global ones.
            round_number: from 1.
            proximal_mu: of FedProx.

        Raises:
            EngineError: the weights do not fit the model, or training fails; see `withheld_errors`.
        """
        started = time.perf_counter()
        config, options = self._config, self._options
        rows = len(data.train)
        # A client with fewer rows than a batch trains with all of them at once.
        batch_size = min(config.batch_size, rows)
        engine = self._engine(data, batch_size)
        try:
            engine.load_weights(dict(weights))
            rate = learning_rate_at(config, round_number - 1, options.rounds)
            engine.set_learning_rate(rate)
            proximal = _Proximal(engine, weights, rate, proximal_mu)
            losses: list[float] = []
            passes = (round_number - 1) * options.local_epochs
            with withheld_errors("trained"):
                for epoch in range(options.local_epochs):
                    for batch in data.train.batches(
                        batch_size, config.seed + client, passes + epoch + 1
                    ):
                        if options.local_steps is not None and len(losses) == options.local_steps:
                            break
                        losses.append(engine.train_step(batch))
                        proximal.step()
            trained = engine.weights()
        finally:
            engine.close()
        samples = len(losses) * batch_size
        facts = {"rows": rows, "samples": samples, "loss": float(np.mean(losses))}
        return ClientReply(
            facts | _measured(started), {name: trained[name].copy() for name in weights}
        )

    def evaluate(self, data: Dataset, weights: Mapping[str, np.ndarray]) -> ClientReply:
        """Evaluate the global weights; without test rows the answer has 0 `rows`.

        Raises:
            EngineError: the weights do not fit the model, or evaluation fails.
        """
        started = time.perf_counter()
        test: Split | None = data.test
        if test is None:
            return ClientReply({"rows": 0}, {})
        engine = self._engine(data, min(self._config.batch_size, len(data.train)))
        try:
            engine.load_weights(dict(weights))
            with withheld_errors("evaluated"):
                found = evaluate(engine, test, self._config, lambda: False)
        finally:
            engine.close()
        assert found is not None
        facts = {"rows": len(test), "loss": found.record()["loss"], "accuracy": found.accuracy}
        return ClientReply(facts | _measured(started), {})

    def _engine(self, data: Dataset, batch_size: int) -> OnDeviceEngine:
        # Each client computes on one core, so that as many run as there are cores.
        changes = {"batch_size": batch_size, "threads": 1}
        config: TrainingConfig = self._config.model_copy(update=changes)
        return OnDeviceEngine(
            EngineSetup(
                model_path=self._model_path,
                artifacts_path=self._artifacts_path,
                config=config,
                report=lambda _: None,
                targets=target_specs(data.train.targets),
            )
        )


def _measured(started: float) -> dict[str, Any]:
    return {"seconds": time.perf_counter() - started, "peak_rss_bytes": peak_rss_bytes()}


class _Proximal:
    """FedProx's proximal term: draws the weights towards the global ones after each step.

    With SGD that is the gradient of mu / 2 · ‖w - w_global‖². With AdamW it is decoupled from the
    moments, as its weight decay is. Source: Li et al., arXiv:1812.06127.
    """

    def __init__(
        self, engine: OnDeviceEngine, start: Mapping[str, np.ndarray], rate: float, mu: float
    ) -> None:
        self._engine = engine
        self._start = start
        self._factor = rate * mu
        self._before = {name: value.copy() for name, value in start.items()}

    def step(self) -> None:
        """After a step of the optimizer."""
        if not self._factor:
            return
        after = self._engine.weights()
        for name, start in self._start.items():
            after[name] = after[name] - self._factor * (self._before[name] - start)
            self._before[name] = after[name]
        self._engine.load_weights({name: after[name] for name in self._start})

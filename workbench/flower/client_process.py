"""A process that clients of federated training run in: `python -m workbench.flower.client_process`.

It answers one message after the other, each for one client, and loads neither torch nor Flower. A
client begins each round with the global weights and a new optimizer: it keeps no state.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.data import Dataset, Split, load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice import OnDeviceEngine
from workbench.errors import WorkbenchError
from workbench.flower.frames import Frame, read_frame, write_frame
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.config import TrainingConfig, read_config
from workbench.settings.federation import FederationOptions
from workbench.settings.learning_rate import learning_rate_at
from workbench.worker.evaluation import evaluate
from workbench.worker.memory import peak_rss_bytes


class Answer(NamedTuple):
    """What a client sends back."""

    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    # Native code prints to the standard output.
    os.dup2(2, 1)
    clients = Clients(RunFolder(Path(sys.argv[1])))
    while True:
        try:
            frame = read_frame(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = clients.answer(frame)
        except WorkbenchError as error:
            answer = Answer({"error": str(error)}, {})
        except (
            Exception
        ) as error:  # reported to the server, which leaves the client out of the round
            answer = Answer({"error": f"{type(error).__name__}: {error}"}, {})
        write_frame(answers, answer.facts, answer.arrays)


class Clients:
    """Trains and evaluates as any client of a run."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        spec = folder.read_spec()
        self._config = read_config(spec["config"])
        self._options = FederationOptions.model_validate(spec["federation"]["options"])

    def answer(self, frame: Frame) -> Answer:
        """Do what a message asks for.

        Args:
            frame: `task`, "train" or "evaluate"; `client`, its number; `round`, from 1; for
                training `proximal_mu`; and the global weights.
        """
        client, facts = int(frame.facts["client"]), frame.facts
        started = time.perf_counter()
        data = load_saved_dataset(self._folder.client_path(client))
        if facts["task"] == "train":
            answer = self._train(client, data, facts, frame.arrays)
        else:
            answer = self._evaluate(data, frame.arrays)
        seconds = time.perf_counter() - started
        measured = {"seconds": seconds, "peak_rss_bytes": peak_rss_bytes()}
        return Answer({**answer.facts, **measured}, answer.arrays)

    def _train(
        self, client: int, data: Dataset, facts: dict[str, Any], weights: dict[str, np.ndarray]
    ) -> Answer:
        config, options = self._config, self._options
        round_number = int(facts["round"])
        rows = len(data.train)
        # A client with fewer rows than a batch trains with all of them at once.
        batch_size = min(config.batch_size, rows)
        engine = self._engine(data, batch_size)
        try:
            engine.load_weights(weights)
            rate = learning_rate_at(config, round_number - 1, options.rounds)
            engine.set_learning_rate(rate)
            proximal = _Proximal(engine, weights, rate, float(facts["proximal_mu"]))
            losses: list[float] = []
            for epoch in range(options.local_epochs):
                passed = (round_number - 1) * options.local_epochs + epoch
                batches = data.train.batches(batch_size, config.seed + client, passed + 1)
                for batch in batches:
                    if options.local_steps is not None and len(losses) == options.local_steps:
                        break
                    losses.append(engine.train_step(batch))
                    proximal.step()
            trained = engine.weights()
        finally:
            engine.close()
        samples = len(losses) * batch_size
        facts = {"rows": rows, "samples": samples, "loss": float(np.mean(losses))}
        return Answer(facts, {name: trained[name] for name in weights})

    def _evaluate(self, data: Dataset, weights: dict[str, np.ndarray]) -> Answer:
        test: Split | None = data.test
        assert test is not None, "the server asks only clients that have test rows"
        engine = self._engine(data, min(self._config.batch_size, len(data.train)))
        try:
            engine.load_weights(weights)
            found = evaluate(engine, test, self._config, lambda: False)
        finally:
            engine.close()
        assert found is not None
        facts = {"rows": len(test), "loss": found.record()["loss"], "accuracy": found.accuracy}
        return Answer(facts, {})

    def _engine(self, data: Dataset, batch_size: int) -> OnDeviceEngine:
        # Each client computes on one core, so that as many run as there are cores.
        changes = {"batch_size": batch_size, "threads": 1}
        config: TrainingConfig = self._config.model_copy(update=changes)
        return OnDeviceEngine(
            EngineSetup(
                model_path=self._folder.model_path,
                artifacts_path=self._folder.artifacts_path,
                config=config,
                report=lambda _: None,
                targets=target_specs(data.train.targets),
            )
        )


class _Proximal:
    """FedProx's proximal term: draws the weights towards the global ones after each step.

    With SGD that is the gradient of mu / 2 · ‖w - w_global‖². With AdamW it is decoupled from the
    moments, as its weight decay is. Source: Li et al., arXiv:1812.06127.
    """

    def __init__(
        self, engine: OnDeviceEngine, start: dict[str, np.ndarray], rate: float, mu: float
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


if __name__ == "__main__":
    main()

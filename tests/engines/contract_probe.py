"""Does with one engine everything that the contract speaks of, and writes down what came out.

Runs in a process of its own, for native code that dies must fail a test and not end the suite:

    python contract_probe.py ENGINE MODEL_FOLDER WORK_FOLDER RESULT_JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from workbench.data import Batch, load_dataset
from workbench.engines import engine_class
from workbench.engines.base import Engine, EngineSetup
from workbench.engines.fake_losses import loss_and_gradient
from workbench.errors import EngineError
from workbench.models import load_saved
from workbench.settings.config import TrainingConfig

STEPS = 30
BATCH_SIZE = 32
TRAINED = {"fake": ("linear.bias",)}
"""What stays trainable when the rest is frozen; the output layer for the models' own names."""

Weights = dict[str, np.ndarray]


class Probe:
    """One engine's answers."""

    def __init__(self, name: str, model: Path, work: Path) -> None:
        self.name, self.model, self.work = name, model, work
        data = load_dataset("digits")
        assert data.test is not None
        batches = list(data.train.batches(BATCH_SIZE, 0, 1))
        self.batches = [batches[step % len(batches)] for step in range(STEPS)]
        self.test = next(iter(data.test.in_order(BATCH_SIZE)))
        self.reports: list[str] = []

    def build(self, **settings: Any) -> Engine:
        config = TrainingConfig(
            engine=self.name,  # type: ignore[arg-type]
            **{"batch_size": BATCH_SIZE, "learning_rate": 2e-3, "threads": 1, **settings},
        )
        artifacts = self.work / "-".join(["artifacts", *map(str, settings.values())])
        return engine_class(self.name)(
            EngineSetup(self.model, artifacts, config, self.reports.append)
        )

    def availability(self) -> dict[str, Any]:
        available = engine_class(self.name).availability()
        loaded = [name for name in ("torch", "onnxruntime") if name in sys.modules]
        return {**available._asdict(), "loaded": loaded}

    def training(self) -> dict[str, Any]:
        engine, again = self.build(), self.build()
        initial = engine.weights()
        before = engine.evaluate(self.batches[0])
        reference, _ = loss_and_gradient(
            "cross_entropy", before.output.copy(), self.batches[0].target
        )
        losses = [engine.train_step(batch) for batch in self.batches]
        repeated = [again.train_step(batch) for batch in self.batches]
        engine.load_weights(initial)
        restored = engine.evaluate(self.batches[0])
        return {
            "losses": losses,
            "repeated": repeated,
            "first_loss_evaluated": before.loss,
            "first_loss_in_numpy": reference,
            "output_shape": before.output.shape,
            "output_dtype": str(before.output.dtype),
            "restored_loss": restored.loss,
            "weights": {key: [list(w.shape), str(w.dtype)] for key, w in initial.items()},
            "initial_difference": self._from_initial(initial),
            "loss_type": type(losses[0]).__name__,
        }

    def evaluation(self) -> dict[str, Any]:
        engine = self.build()
        engine.train_step(self.batches[0])
        before = engine.weights()
        for array in engine.weights().values():
            array[...] = 7
        first, second = engine.evaluate(self.test), engine.evaluate(self.test)
        read_only = Batch(tuple(map(_read_only, self.test.inputs)), _read_only(self.test.target))
        small = Batch(tuple(array[:3] for array in self.test.inputs), self.test.target[:3])
        return {
            "changed": _difference(before, engine.weights()),
            "repeated": abs(first.loss - second.loss),
            "read_only": abs(first.loss - engine.evaluate(read_only).loss),
            "small_batch": [list(engine.evaluate(small).output.shape), engine.train_step(small)],
            "read_only_step": engine.train_step(read_only),
        }

    def gradients(self) -> dict[str, Any]:
        """At the initial weights and after two steps, when PyTorch's running statistics moved."""
        engine = self.build(optimizer="sgd", weight_decay=0.1)
        first = engine.gradients(self.batches[0])
        engine.train_step(self.batches[0])
        engine.train_step(self.batches[1])
        before = engine.weights()
        found = engine.gradients(self.batches[2])
        after = engine.weights()
        again = engine.gradients(self.batches[2])
        engine.train_step(self.batches[2])
        stepped = engine.weights()
        expected = {
            name: before[name] - 2e-3 * (gradient + 0.1 * before[name])
            for name, gradient in found.gradients.items()
        }
        return {
            "loss": first.loss,
            "first": {name: gradient.tolist() for name, gradient in first.gradients.items()},
            "dtypes": sorted({str(gradient.dtype) for gradient in found.gradients.values()}),
            "changed": _difference(before, after),
            "repeated": _difference(found.gradients, again.gradients),
            "step": _difference(expected, stepped),
        }

    def learning_rate(self) -> dict[str, Any]:
        engine = self.build()
        moved = []
        for rate in (0.0, 1e-3, 2e-3):
            engine.set_learning_rate(rate)
            before = engine.weights()
            engine.train_step(self.batches[0])
            moved.append(_difference(before, engine.weights()))
            engine.load_weights(before)
        return {"moved": moved}

    def frozen(self) -> dict[str, Any]:
        patterns = TRAINED.get(self.name, ("output.*",))
        engine = self.build(requires_grad=patterns)
        before = engine.weights()
        losses = [engine.train_step(batch) for batch in self.batches[:5]]
        after = engine.weights()
        return {
            "gradients": sorted(engine.gradients(self.batches[0]).gradients),
            "patterns": patterns,
            "moved": {name: float(np.abs(after[name] - before[name]).max()) for name in before},
            "losses": losses,
        }

    def weights(self) -> dict[str, Any]:
        engine = self.build()
        before = engine.weights()
        name = next(iter(before))
        engine.load_weights({name: np.full_like(before[name], 0.5)})
        after = engine.weights()
        others = {key: value for key, value in before.items() if key != name}
        refused = []
        for wrong in ({name: np.zeros((1, 2, 3), np.float32)}, {"no.such.weight": before[name]}):
            try:
                engine.load_weights(wrong)
            except EngineError as error:
                refused.append(str(error))
        folder = self.work / "state"
        folder.mkdir()
        engine.save_state(folder)
        return {
            "set": float(np.abs(after[name] - 0.5).max()),
            "others": _difference(others, after),
            "refused": refused,
            "name": name,
        }

    def _from_initial(self, weights: Weights) -> float | None:
        if self.name == "fake":
            return None
        initial = load_saved(self.model).weights()
        assert list(initial) == list(weights) or set(initial) == set(weights)
        return _difference(initial, weights)


def _difference(before: Weights, after: Weights) -> float:
    """The largest change of any number."""
    return max(float(np.abs(after[name] - before[name]).max(initial=0)) for name in before)


def _read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def main() -> None:
    name, model, work, result = sys.argv[1], *map(Path, sys.argv[2:])
    probe = Probe(name, model, work)
    answers: dict[str, Any] = {"availability": probe.availability()}
    if answers["availability"]["ok"]:
        for part in ("training", "evaluation", "gradients", "learning_rate", "frozen", "weights"):
            answers[part] = getattr(probe, part)()
    answers["reports"] = probe.reports
    result.write_text(json.dumps(answers))


if __name__ == "__main__":
    main()

"""Does with one engine everything that the contract speaks of, and writes down what came out.

Runs in a process of its own, for native code that dies must fail a test and not end the suite:

    python contract_probe.py ENGINE MODEL_FOLDER WORK_FOLDER RESULT_JSON
"""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from tests.fork_server import fork_children
from tests.representative import WHOLE_TABLES
from workbench.data import Batch
from workbench.engines import engine_class
from workbench.engines.base import Engine, EngineSetup
from workbench.engines.fake_losses import loss_and_gradient
from workbench.errors import EngineError
from workbench.load import load_dataset
from workbench.models import load_saved
from workbench.run_folder.checkpoint import write_checkpoint
from workbench.settings.config import TrainingConfig
from workbench.settings.learning_rate import learning_rate_at

STEPS = 30
BATCH_SIZE = 32
TRAINED = {"fake": ("linear.bias",)}
"""Patterns of the parameters that stay trainable when the rest is frozen: the output layer."""

PARTS = (
    *("training", "evaluation", "gradients", "observed", "learning_rate", "frozen", "weights"),
    *("options", "lora", "head", "state"),
)
"""What each engine does, by methods of `Probe`."""

FEWER_PARTS = {"pytorch-compile": ("training",)}
"""What these engines do where time is short. torch.compile builds each graph anew, for seconds, and
all else of that engine is PyTorch's, which does everything."""

OPTION_STEPS = 100
OPTIONS: dict[str, dict[str, Any]] = {
    "adamw": {
        "lr_schedule": "cosine",
        "lr_warmup_steps": 10,
        "gradient_accumulation": 2,
        "max_grad_norm": 0.5,
    },
    "sgd": {
        "optimizer": "sgd",
        "learning_rate": 0.1,
        "weight_decay": 0.05,
        "lr_schedule": "polynomial",
        "lr_power": 2.0,
        "lr_warmup_steps": 5,
        "gradient_accumulation": 2,
        "max_grad_norm": 0.3,
    },
    "sgd-unclipped": {
        "optimizer": "sgd",
        "learning_rate": 0.1,
        "weight_decay": 0.05,
        "lr_schedule": "linear",
        "lr_warmup_steps": 20,
        "gradient_accumulation": 2,
    },
}
"""Every schedule with a warm-up, but for the constant one, which `HEAD` has."""

OPTIONS_OF = {
    "fake": ("adamw",),
    "pytorch-compile": ("adamw",),
    "ortmodule": ("sgd-unclipped",),
}
"""Optimizers that these engines are tried with.

They share PyTorch's with the engine pytorch, which is tried with all, as is every engine that is
not named here.
"""


def parts_of(engine: str) -> tuple[str, ...]:
    """Names of the parts that this engine does."""
    return PARTS if WHOLE_TABLES else FEWER_PARTS.get(engine, PARTS)


def options_of(engine: str) -> tuple[str, ...]:
    """Names of the options that this engine is tried with."""
    return tuple(OPTIONS) if WHOLE_TABLES else OPTIONS_OF.get(engine, tuple(OPTIONS))


def observed_of(engine: str) -> tuple[str, ...]:
    """Of these the ones whose steps are observed: the clipped SGD adds nothing to them."""
    return tuple(name for name in options_of(engine) if name != "sgd")


LORA: dict[str, Any] = {
    "lora": {"rank": 4, "alpha": 6, "targets": ("hidden*",), "seed": 3},
    "requires_grad": ("output.*",),
}
"""The head trains in full, the other layers by adapters."""
OBSERVED_STEPS = 3
SAVED_STEPS = 90
"""Steps with LoRA before a checkpoint, from which the last ten are also taken again."""

HEAD: dict[str, Any] = {
    "requires_grad": ("output.*",),
    "optimizer": "sgd",
    "learning_rate": 0.05,
    "lr_warmup_steps": 10,
}
"""Of a network with batch normalization, which stays in training mode as PyTorch has it."""

Weights = dict[str, np.ndarray]


def engine_config(settings: dict[str, Any]) -> TrainingConfig:
    return TrainingConfig(
        **{"batch_size": BATCH_SIZE, "learning_rate": 2e-3, "threads": 1, **settings}
    )


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

    def build(
        self, checkpoint: Path | None = None, model: Path | None = None, **settings: Any
    ) -> Engine:
        config = engine_config({"engine": self.name, **settings})
        digest = zlib.crc32(repr((model, settings)).encode())
        return engine_class(self.name)(
            EngineSetup(
                model or self.model,
                self.work / f"artifacts-{digest}",
                config,
                self.reports.append,
                checkpoint=checkpoint,
            )
        )

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

    def observed(self) -> dict[str, Any]:
        """Norms of accumulated gradients and of updates, and whether to look changes a step."""
        found = {}
        for name in observed_of(self.name):
            settings = {**OPTIONS[name], "max_grad_norm": None if name != "adamw" else 1e-3}
            engine, plain = self.build(**settings), self.build(**settings)
            steps = []
            for step in range(OBSERVED_STEPS):
                first, second = self.batches[2 * step : 2 * step + 2]
                engine.accumulate(first)
                plain.accumulate(first)
                seen = engine.observed_step(second)
                steps.append({"norms": seen.norms, "loss": [seen.loss, plain.train_step(second)]})
            found[name] = {
                "steps": steps,
                "from_plain": _difference(engine.weights(), plain.weights()),
            }
        return found

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
        return {
            "set": float(np.abs(after[name] - 0.5).max()),
            "others": _difference(others, after),
            "refused": refused,
            "name": name,
        }

    def options(self) -> dict[str, Any]:
        """A schedule, accumulated and clipped gradients, over a hundred steps."""
        found = {}
        for name in options_of(self.name):
            settings = OPTIONS[name]
            engine = self.build(**settings)
            losses = []
            for step in range(OPTION_STEPS):
                engine.set_learning_rate(
                    learning_rate_at(engine_config(settings), step, OPTION_STEPS)
                )
                first, second = (self.batches[(2 * step + part) % STEPS] for part in (0, 1))
                losses.append((engine.accumulate(first) + engine.train_step(second)) / 2)
            save_file(engine.weights(), self.work / f"{name}.safetensors")
            found[name] = losses
        return found

    def lora(self) -> dict[str, Any]:
        """A hundred steps with adapters, the last of them also from a checkpoint."""
        engine = self.build(**LORA)
        save_file(engine.weights(), self.work / "lora-initial.safetensors")
        batches = [self.batches[step % STEPS] for step in range(OPTION_STEPS)]
        losses = [engine.train_step(batch) for batch in batches[:SAVED_STEPS]]
        folder = self.work / "lora-checkpoint"
        write_checkpoint(folder, engine.weights(), engine.save_state)
        last = [engine.train_step(batch) for batch in batches[SAVED_STEPS:]]
        save_file(engine.weights(), self.work / "lora.safetensors")
        again = self.build(checkpoint=folder, **LORA)
        resumed = [again.train_step(batch) for batch in batches[SAVED_STEPS:]]
        return {
            "losses": losses + last,
            "last": last,
            "resumed": resumed,
            "resumed_weights": _difference(engine.weights(), again.weights()),
            "evaluated": engine.evaluate(self.test).loss,
        }

    def head(self) -> dict[str, Any]:
        """A hundred steps of nothing but the last layer, after batch normalization."""
        engine = self.build(model=self.model.with_name("normalized"), **HEAD)
        save_file(engine.weights(), self.work / "head-initial.safetensors")
        losses = []
        for step in range(OPTION_STEPS):
            engine.set_learning_rate(learning_rate_at(engine_config(HEAD), step, OPTION_STEPS))
            losses.append(engine.train_step(self.batches[step % STEPS]))
        save_file(engine.weights(), self.work / "head.safetensors")
        return {"losses": losses, "evaluated": engine.evaluate(self.test).loss}

    def state(self) -> dict[str, Any]:
        """Trained values after a checkpoint, by the engine and by one that continues from it."""
        engine = self.build(seed=5)
        for batch in self.batches[:7]:
            engine.train_step(batch)
        folder = self.work / "state"
        write_checkpoint(folder, engine.weights(), engine.save_state)
        losses = [engine.train_step(batch) for batch in self.batches[7:15]]
        again = self.build(seed=5, checkpoint=folder)
        return {
            "losses": losses,
            "again": [again.train_step(batch) for batch in self.batches[7:15]],
            "weights": _difference(engine.weights(), again.weights()),
            "files": sorted(path.name for path in folder.iterdir()),
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
    fork_children()
    probe = Probe(name, model, work)
    answers: dict[str, Any] = {part: getattr(probe, part)() for part in parts_of(name)}
    answers["reports"] = probe.reports
    result.write_text(json.dumps(answers))


if __name__ == "__main__":
    main()

"""An engine for tests: a linear model in numpy that keeps the contract of every engine.

It needs neither torch nor onnxruntime, starts immediately and fails on request, so that
everything above the engines is tested without them. The environment variable WORKBENCH_FAKE holds
its faults, as JSON: {"raise_at": 5, "signal_at": [7, "SIGSEGV"], "nan_at": 4}. A test
of the order of events can have it log them with times.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import math
import os
import signal
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from safetensors.numpy import load_file, save_file
from typing_extensions import override

from workbench.data import Batch
from workbench.engines.base import (
    Availability,
    Engine,
    EngineSetup,
    Evaluation,
    Gradients,
    ObservedStep,
    ParameterNorms,
)
from workbench.engines.fake_behaviour import behaviour
from workbench.engines.fake_losses import loss_and_gradient, the_loss
from workbench.errors import EngineError
from workbench.run_folder.checkpoint import read_weights
from workbench.settings.requires_grad import trainable_names

MEAN, SQUARE, STEP = "mean.safetensors", "square.safetensors", "step.safetensors"
"""Files of a checkpoint: the moments of AdamW, and its number of steps."""


class FakeEngine(Engine):
    """y = x W + b on the flattened first input, independent of the model's computation.

    Its weights are `linear.weight` (features, outputs) and `linear.bias` (outputs,), float32,
    initially 0; each sample is scaled to unit norm so that any input trains at any usual learning
    rate. The loss, the optimizers and their defaults are those of the other engines.
    """

    @classmethod
    @override
    def availability(cls) -> Availability:
        return Availability(True)

    def __init__(self, setup: EngineSetup) -> None:
        from workbench.models import load_saved

        self.behaviour = behaviour()
        self.report = setup.report
        setup.report("building the fake")
        if self.behaviour.ignore_signals:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if self.behaviour.hold_gil_at == 0:
            self._hold_gil()
        with self._noted("build"):
            time.sleep(self.behaviour.build_ms / 1e3)
        if self.behaviour.raise_while_building:
            raise EngineError("The fake engine was asked to raise while building.")
        self.config = setup.config
        self.learning_rate = setup.config.learning_rate
        model = load_saved(setup.model_path)
        self.loss = the_loss(setup.config.losses, model.outputs[0].name)
        self.output_shape = _sizes(model.outputs[0].shape[1:])
        features = int(np.prod(_sizes(model.inputs[0].shape[1:])))
        outputs = int(np.prod(self.output_shape))
        self.parameters = {
            "linear.weight": np.zeros((features, outputs), np.float32),
            "linear.bias": np.zeros(outputs, np.float32),
        }
        # Patterns refer to the model's names, which the fake does not have: it trains everything.
        patterns = setup.config.requires_grad
        own = None if patterns is None else [p for p in patterns if p in self.parameters]
        self.trained = trainable_names(self.parameters, own or None)
        self.moments = {name: (np.zeros_like(p), np.zeros_like(p)) for name, p in self._trained()}
        self.step = 0
        self._accumulated: list[dict[str, np.ndarray]] = []
        if setup.checkpoint is not None:
            self._restore(setup.checkpoint)
        self.kept = [np.ones(self.behaviour.build_bytes, np.uint8)]
        if self.behaviour.finish_ms or self.behaviour.event_log:
            atexit.register(self._exit)

    @override
    def accumulate(self, batch: Batch) -> float:
        with self._noted("accumulate", batch):
            loss, gradients = self._gradients(batch)
            self._accumulated.append(gradients)
            return loss

    @override
    def train_step(self, batch: Batch) -> float:
        with self._noted("step", batch):
            return self._train_step(batch)[0]

    @override
    def observed_step(self, batch: Batch) -> ObservedStep:
        before = {name: parameter.copy() for name, parameter in self._trained()}
        with self._noted("step", batch):
            loss, gradients = self._train_step(batch)
        norms = {
            name: ParameterNorms(
                _norm(gradients[name]), _norm(before[name]), _norm(parameter - before[name])
            )
            for name, parameter in self._trained()
        }
        return ObservedStep(loss, norms)

    def _train_step(self, batch: Batch) -> Gradients:
        """Take a step; return its loss, and the gradients before clipping."""
        self.step += 1
        self._misbehave()
        loss, gradients = self._gradients(batch)
        found, self._accumulated = [*self._accumulated, gradients], []
        count = np.float32(self.config.gradient_accumulation)
        means = {name: np.sum([g[name] for g in found], axis=0) / count for name in gradients}
        scale = _clip_scale(means.values(), self.config.max_grad_norm)
        for name, parameter in self._trained():
            self._update(name, parameter, means[name] * scale)
        if self.behaviour.nan_at is not None and self.step >= self.behaviour.nan_at:
            return Gradients(float("nan"), means)
        return Gradients(loss, means)

    @override
    def gradients(self, batch: Batch) -> Gradients:
        if self.behaviour.signal_in_gradients is not None:
            os.kill(os.getpid(), signal.Signals[self.behaviour.signal_in_gradients])
        return self._gradients(batch)

    def _gradients(self, batch: Batch) -> Gradients:
        features, output = self._forward(batch)
        loss, gradient = loss_and_gradient(self.loss, output, batch.target)
        flat = gradient.reshape(len(features), -1)
        found = {"linear.weight": features.T @ flat, "linear.bias": flat.sum(axis=0)}
        return Gradients(loss, {name: found[name].astype(np.float32) for name in self.trained})

    @override
    def evaluate(self, batch: Batch) -> Evaluation:
        with self._noted("evaluate", batch):
            time.sleep(self.behaviour.evaluate_ms / 1e3)
            _, output = self._forward(batch)
            loss, _ = loss_and_gradient(self.loss, output, batch.target)
            return Evaluation(loss, output)

    @override
    def set_learning_rate(self, learning_rate: float) -> None:
        self.learning_rate = learning_rate

    @override
    def weights(self) -> dict[str, np.ndarray]:
        with self._noted("weights"):
            return {name: parameter.copy() for name, parameter in self.parameters.items()}

    @override
    def load_weights(self, weights: dict[str, np.ndarray]) -> None:
        for name, array in weights.items():
            if name not in self.parameters or self.parameters[name].shape != array.shape:
                raise EngineError(f"Weight {name!r} of shape {array.shape} is not the fake's.")
            self.parameters[name][...] = array

    @override
    def save_state(self, folder: Path) -> None:
        mean, square = ({name: each[i] for name, each in self.moments.items()} for i in (0, 1))
        save_file(mean, folder / MEAN)
        save_file(square, folder / SQUARE)
        save_file({"step": np.array(self.step)}, folder / STEP)

    def _restore(self, folder: Path) -> None:
        self.load_weights(read_weights(folder))
        mean, square = (load_file(folder / name) for name in (MEAN, SQUARE))
        self.moments = {name: (mean[name], square[name]) for name in mean}
        self.step = int(load_file(folder / STEP)["step"])

    @override
    def statistics(self) -> None:
        with self._noted("statistics"):
            time.sleep(self.behaviour.finish_ms / 1e3)

    def _exit(self) -> None:
        with self._noted("exit"):
            time.sleep(self.behaviour.finish_ms / 1e3)

    @contextmanager
    def _noted(self, what: str, batch: Batch | None = None) -> Iterator[None]:
        """Log the begin and end of the enclosed work."""
        began, began_ns = time.time(), time.perf_counter_ns()
        if self.behaviour.event_log is None:
            yield
            return
        line: dict[str, Any] = {"what": what, "began": began, "began_ns": began_ns}
        line["rss_bytes"] = psutil.Process().memory_info().rss
        line["batch"] = batch_checksum(batch) if batch else 0
        yield
        line["ended_ns"], line["ended"] = time.perf_counter_ns(), time.time()
        with Path(self.behaviour.event_log).open("a", encoding="utf-8") as event_log:
            event_log.write(json.dumps(line) + "\n")

    def _trained(self) -> list[tuple[str, np.ndarray]]:
        return [(name, self.parameters[name]) for name in self.trained]

    def _forward(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Features (batch, features) and output (batch, ...), float32."""
        features = batch.inputs[0].reshape(len(batch.inputs[0]), -1).astype(np.float32)
        features = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-6)
        output = features @ self.parameters["linear.weight"] + self.parameters["linear.bias"]
        return features, output.reshape(len(features), *self.output_shape)

    def _update(self, name: str, parameter: np.ndarray, gradient: np.ndarray) -> None:
        """One step of `torch.optim.AdamW` or `SGD` with their defaults, in place."""
        decay = self.config.effective_weight_decay
        if self.config.optimizer == "sgd":
            parameter -= self.learning_rate * (gradient + decay * parameter)
            return
        mean, square = self.moments[name]
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient * gradient - square)
        corrected_mean = mean / (1 - 0.9**self.step)
        corrected_square = square / (1 - 0.999**self.step)
        parameter *= 1 - self.learning_rate * decay
        parameter -= self.learning_rate * corrected_mean / (np.sqrt(corrected_square) + 1e-8)

    def _hold_gil(self) -> None:
        """Block like native code that waits for its own threads: no other Python thread runs."""
        self.report("keeping the interpreter's lock")
        memory = np.empty(self.behaviour.hold_gil_bytes, np.uint8)
        native = ctypes.PyDLL(None)
        native.memset(ctypes.c_void_p(memory.ctypes.data), 1, ctypes.c_size_t(memory.nbytes))
        while True:
            native.sleep(3600)

    def _misbehave(self) -> None:
        wanted = self.behaviour
        time.sleep(wanted.step_ms / 1e3)
        spun_s = time.process_time() + wanted.spin_ms / 1e3
        while time.process_time() < spun_s:
            pass
        if self.step == 1:
            time.sleep(wanted.first_step_ms / 1e3)
        if self.step == wanted.transient_at:
            held = np.ones(wanted.transient_bytes, np.uint8)
            with self._noted("transient"):
                del held
        if wanted.allocate_bytes and self.step >= wanted.allocate_from:
            self.kept.append(np.ones(wanted.allocate_bytes, np.uint8))
        if self.step == wanted.hold_gil_at:
            self._hold_gil()
        if self.step == wanted.raise_at:
            raise EngineError(f"The fake engine was asked to raise at step {self.step}.")
        if wanted.signal_at is not None and self.step == wanted.signal_at[0]:
            os.kill(os.getpid(), signal.Signals[wanted.signal_at[1]])


def _norm(values: np.ndarray) -> float:
    return float(np.linalg.norm(values.astype(np.float64)))


def _clip_scale(gradients: Iterable[np.ndarray], max_norm: float | None) -> np.float32:
    """See `torch.nn.utils.clip_grad_norm_`."""
    if max_norm is None:
        return np.float32(1)
    norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in gradients))
    return np.float32(min(1.0, max_norm / (norm + 1e-6)))


def batch_checksum(batch: Batch) -> int:
    """CRC-32 of all arrays of `batch`."""
    return zlib.crc32(b"".join(array.tobytes() for array in (*batch.inputs, *batch.targets)))


def _sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape without its batch axis; all sizes must be known."""
    if not all(isinstance(size, int) for size in shape):
        raise EngineError(f"The fake engine needs fixed sizes but the model has {shape}.")
    return tuple(int(size) for size in shape)

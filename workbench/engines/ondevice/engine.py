"""ONNX Runtime's on-device training: no torch and no onnx in the process that trains."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from typing_extensions import override

from workbench.artifacts import Artifacts, generate_from_saved
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
from workbench.engines.ondevice.arena_growth import region_bytes
from workbench.engines.ondevice.artifact_fit import (
    refuse_other_settings,
    refuse_other_target,
    refuse_small_batch,
)
from workbench.engines.ondevice.device_kernels import chosen_kernels
from workbench.engines.ondevice.memory_limit import refuse_over_device_memory
from workbench.engines.ondevice.state import NATIVE_CHECKPOINT, read_state, write_state
from workbench.engines.ondevice.statistics import device_statistics
from workbench.engines.training_build import training_build
from workbench.errors import EngineError
from workbench.files.input_file import check_file
from workbench.ort.ondevice.ondevice import TrainingSession
from workbench.ort.ondevice.optimizers import gradient_weight_decay
from workbench.ort.step_seeds import StepSeeds
from workbench.run_folder.checkpoint import WEIGHTS, read_weights
from workbench.run_folder.operator_timing import StepWindow, Timing
from workbench.run_folder.statistics import Statistics


class OnDeviceEngine(Engine):
    """Trains with artifacts, which are generated first, in a child process, if there are none."""

    @classmethod
    @override
    def availability(cls) -> Availability:
        return training_build()

    def __init__(self, setup: EngineSetup) -> None:
        available = self.availability()
        if not available.ok:
            raise EngineError(f"{available.reason} To fix it: {available.remedy}")
        config = setup.config
        artifacts = _artifacts(setup)
        refuse_small_batch(artifacts, config.batch_size)
        refuse_other_target(artifacts, setup.targets)
        refuse_over_device_memory(artifacts, config)
        setup.report("loading ONNX Runtime")
        started = time.perf_counter()
        kernels = chosen_kernels(config, artifacts)
        self.training_model = kernels.training_model
        """The graph that it trains with."""
        self._session = TrainingSession(
            checkpoint=_checkpoint(setup, artifacts),
            training_model=kernels.training_model,
            eval_model=artifacts.eval_model,
            optimizer_model=artifacts.optimizer_model,
            threads=config.threads,
            seed=config.seed,
            kernels=kernels.library,
            region_bytes=region_bytes(artifacts, config.batch_size),
        )
        load_s = time.perf_counter() - started
        # ONNX Runtime begins with 0.001 whatever the checkpoint says.
        self._session.set_learning_rate(config.learning_rate)
        self._trainable, self._frozen = artifacts.trainable, artifacts.frozen
        self._parameters = (*self._trainable, *self._frozen)
        self._accumulation = config.gradient_accumulation
        self._decay = gradient_weight_decay(
            config.optimizer, config.effective_weight_decay, config.max_grad_norm
        )
        self._constants = artifacts.constants()
        self._counters: list[str] = artifacts.manifest["counters"]
        self._aliases: dict[str, str] = artifacts.manifest["aliases"]
        self._uncounted_steps = 0
        self._seeds = StepSeeds(config.seed)
        self._training_sha256: str = artifacts.manifest["files"][artifacts.training_model.name]
        if setup.checkpoint is not None:
            self._restore(setup.checkpoint)
        self._terms = len(config.losses) if len(config.losses) > 1 else 0
        self._statistics = device_statistics(config, artifacts, load_s, kernels)

    @property
    def trainable(self) -> tuple[str, ...]:
        """Names of the trained parameters."""
        return self._trainable

    def statistics_names(self, parameters: Sequence[str]) -> tuple[str, ...]:
        """Names of the running statistics: frozen values of the checkpoint that are not
        `parameters` of the model."""
        return tuple(name for name in self._frozen if name not in set(parameters))

    @override
    def accumulate(self, batch: Batch) -> float:
        self._uncounted_steps += 1
        self._session.seed(self._seeds.next())
        return self._session.accumulate([*batch.inputs, *batch.targets]) * self._accumulation

    @override
    def train_step(self, batch: Batch) -> float:
        self._uncounted_steps += 1
        self._session.seed(self._seeds.next())
        return self._session.train_step([*batch.inputs, *batch.targets]) * self._accumulation

    @override
    def observed_step(self, batch: Batch) -> ObservedStep:
        session = self._session
        loss = self.accumulate(batch)
        before = {name: session.parameter(name) for name in self._trainable}
        # Read before the step, which clips them in place; the training model has added the decay.
        gradients = {
            name: _norm(session.gradient(name) - self._decay * before[name])
            for name in self._trainable
        }
        session.step()
        norms = {
            name: ParameterNorms(
                gradients[name], _norm(value), _norm(session.parameter(name) - value)
            )
            for name, value in before.items()
        }
        return ObservedStep(loss, norms)

    @override
    def gradients(self, batch: Batch) -> Gradients:
        # Running statistics are among what is frozen, and the forward pass writes them.
        before = {name: self._session.parameter(name) for name in self._frozen}
        loss = self._session.backward([*batch.inputs, *batch.targets]) * self._accumulation
        gradients = {
            name: self._session.gradient(name) * self._accumulation for name in self._trainable
        }
        for name, value in before.items():
            self._session.set_parameter(name, value)
        if self._decay:
            # The training model has added it.
            for name in gradients:
                gradients[name] -= self._decay * self._session.parameter(name)
        return Gradients(loss, gradients)

    @override
    def evaluate(self, batch: Batch) -> Evaluation:
        results = self._session.eval_results([*batch.inputs, *batch.targets])
        # With several losses the last results are what each adds.
        terms = results[len(results) - self._terms :]
        return Evaluation(float(results[0]), results[1], tuple(float(term) for term in terms))

    @override
    def set_learning_rate(self, learning_rate: float) -> None:
        self._session.set_learning_rate(learning_rate)

    @override
    def weights(self) -> dict[str, np.ndarray]:
        self._count_steps()
        weights = {name: self._session.parameter(name) for name in self._parameters}
        weights |= {name: value.copy() for name, value in self._constants.items()}
        return weights | {alias: weights[name].copy() for alias, name in self._aliases.items()}

    @override
    def load_weights(self, weights: dict[str, np.ndarray]) -> None:
        self._count_steps()
        own = self.weights()
        for name, value in weights.items():
            if name not in own or own[name].shape != value.shape:
                expected = own[name].shape if name in own else "no such name"
                raise EngineError(
                    f"Weight {name!r} of shape {value.shape} does not fit the model: {expected}."
                )
            canonical = self._aliases.get(name, name)
            if canonical in self._constants:
                self._constants[canonical] = value.astype(own[name].dtype)
            else:
                self._session.set_parameter(canonical, value.astype(own[name].dtype))

    @override
    def statistics(self) -> Statistics:
        return self._statistics

    def close(self) -> None:
        """Release the models, which writes their profiles; the engine cannot be used afterwards."""
        self._session.close()
        self.closed = True

    @override
    def graph_timings(self, folder: Path, windows: Sequence[StepWindow]) -> list[list[Timing]]:
        from workbench.ort.ondevice.profile import step_timings

        self.close()
        return step_timings(folder, self.training_model, len(windows), self._accumulation)

    @override
    def save_state(self, folder: Path) -> None:
        """Write the native checkpoint, optimizer state included."""
        self._session.save(folder / NATIVE_CHECKPOINT)
        write_state(folder, self._seeds.batches, self._training_sha256)

    def _restore(self, folder: Path) -> None:
        """Restore what the native checkpoint lacks: the model's constants, and the random state.

        Raises:
            EngineError: its files do not belong together, or not to the artifacts.
        """
        weights = read_weights(folder)
        for name, value in self.weights().items():
            found = weights.get(name)
            fits = found is not None and found.shape == value.shape and found.dtype == value.dtype
            if not fits or (name not in self._constants and not _same(value, weights[name])):
                raise EngineError(
                    f"{folder} is corrupt: {NATIVE_CHECKPOINT} and {WEIGHTS} hold different values "
                    f"of {name!r}, or one lacks it."
                )
        for name in self._constants:
            self._constants[name] = weights[name]
        self._seeds.batches = read_state(folder, self._training_sha256).batches

    def _count_steps(self) -> None:
        """Set the counters of PyTorch's BatchNorm layers to the current step."""
        for name in self._counters:
            self._constants[name] = np.asarray(self._constants[name] + self._uncounted_steps)
        self._uncounted_steps = 0


def _norm(values: np.ndarray) -> float:
    return float(np.linalg.norm(values.astype(np.float64)))


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


def _checkpoint(setup: EngineSetup, artifacts: Artifacts) -> Path:
    if setup.checkpoint is None:
        return artifacts.checkpoint
    setup.report("restoring the checkpoint")
    # Checked before native code reads the checkpoint.
    read_state(setup.checkpoint, artifacts.manifest["files"][artifacts.training_model.name])
    return check_file(setup.checkpoint / NATIVE_CHECKPOINT, EngineError)


def _artifacts(setup: EngineSetup) -> Artifacts:
    """The artifacts of the run, generated where there are none yet.

    Raises:
        EngineError: those that are there were generated with other settings.
    """
    path = setup.artifacts_path
    if not path.exists() or not any(path.iterdir()):
        return generate_from_saved(
            setup.model_path,
            setup.config,
            path,
            targets=setup.targets,
            disable_randomness=setup.disable_randomness,
            report=setup.report,
        )
    artifacts = Artifacts.load(path)
    refuse_other_settings(artifacts, setup.config)
    return artifacts

"""Trains a model in all ways that `models` compares, in lockstep, each in its own process."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.models.products import Products
from benchmarks.models.subjects import LANGUAGE, Subject
from workbench.compare import Comparison
from workbench.compare.lockstep import Lockstep, LockstepPlan
from workbench.compare.rounds.statistics import Ratio, largest_difference, ratio
from workbench.machine.load import Load
from workbench.runs import Run, prepare
from workbench.runs.launch import launch

EAGER = "pytorch"
ENGINES = (EAGER, "pytorch-compile", "ondevice", "ortmodule")

WARMUP = 4
"""Steps before the first round."""

COMPARED = 20


class Ablation(NamedTuple):
    """An option that is set to what it is not by default."""

    engine: str
    settings: dict[str, Any]

    def __str__(self) -> str:
        options = self.settings.get(self.engine, self.settings)
        return f"{self.engine}, " + ", ".join(f"{key}={value}" for key, value in options.items())


def _ortmodule(**options: Any) -> Ablation:
    return Ablation("ortmodule", {"ortmodule": options})


DEVICE_KERNELS = Ablation("ondevice", {"device_kernels": False})
ALL_KERNELS = _ortmodule(pytorch_kernels="all")
NO_LINEAR = _ortmodule(pytorch_kernels="no_linear")
DEVICE_LABELS = Ablation("ondevice", {"label_sparsity": False})
KERNELS = _ortmodule(pytorch_kernels=False)
OWN_KERNELS = _ortmodule(device_kernels=False)
WITHOUT_PYTORCH = _ortmodule(pytorch_kernels="dropout")
MEMORY = _ortmodule(memory_optimizer_level=1)
LABELS = _ortmodule(label_sparsity=False)
PADDING = _ortmodule(embedding_sparsity="off")
NEITHER = _ortmodule(label_sparsity=False, embedding_sparsity="off", pytorch_kernels=False)
OTHERS = (
    _ortmodule(compute_optimizer=True),
    _ortmodule(memory_efficient_gradients=True),
    _ortmodule(memory_pattern=True),
    _ortmodule(memory_reuse=True),
)

ABLATIONS: Mapping[str, tuple[Ablation, ...]] = {
    "text-bert": (DEVICE_KERNELS, ALL_KERNELS, NO_LINEAR, KERNELS, OWN_KERNELS, MEMORY, *OTHERS),
    "hf-classifier": (DEVICE_KERNELS, ALL_KERNELS, NO_LINEAR, KERNELS, OWN_KERNELS),
    "digits-cnn": (DEVICE_KERNELS, KERNELS, ALL_KERNELS),
    "sketch-cnn": (ALL_KERNELS,),
    "speech-commands": (ALL_KERNELS,),
    "text-gpt": (DEVICE_KERNELS, OWN_KERNELS),
    "text-bert-512": (DEVICE_KERNELS, ALL_KERNELS, OWN_KERNELS),
    "vit": (ALL_KERNELS, NO_LINEAR, OWN_KERNELS),
    "resnet": (DEVICE_KERNELS, KERNELS, OWN_KERNELS, WITHOUT_PYTORCH),
    "bert-30522": (
        *(DEVICE_KERNELS, DEVICE_LABELS, LABELS, PADDING),
        *(ALL_KERNELS, NO_LINEAR, KERNELS, NEITHER, OWN_KERNELS),
    ),
    "bert-30522-dropout": (DEVICE_KERNELS, ALL_KERNELS, OWN_KERNELS),
    "gpt2-50257": (DEVICE_KERNELS, DEVICE_LABELS, LABELS, PADDING, KERNELS, OWN_KERNELS),
    "t5-32128": (DEVICE_KERNELS, DEVICE_LABELS, LABELS, PADDING, OWN_KERNELS),
    "llama-32000": (DEVICE_KERNELS, DEVICE_LABELS, LABELS, PADDING, OWN_KERNELS),
}
"""The variants of each model: those that may affect it."""


class Measured(NamedTuple):
    """One way of training a model."""

    way: str
    throughput: Ratio
    """Over that of eager PyTorch, or of an option's engine by default."""
    memory: float
    """Peak resident set, over the same."""
    peak_mb: float
    step_s: float
    startup_s: float
    loss_difference: float
    """The largest from eager PyTorch's in the first `COMPARED` steps; later they drift apart."""
    products: float
    """Part of the step that the model's products would take alone."""
    problem: str = ""
    """Why there is nothing, or what PyTorch ran instead."""


class Outcome(NamedTuple):
    """All that was measured of one model."""

    name: str
    rounds: int
    batch_size: int
    products: Products
    engines: tuple[Measured, ...]
    ablations: tuple[Measured, ...]
    warning: str = ""


def measure(
    subject: Subject, products: Products, rounds: int, round_s: float, ablations: bool
) -> Outcome:
    """Train in turns of about `round_s` seconds of eager PyTorch, so many times.

    Ways that fail are told with their reason.
    """
    burst = int(np.clip(round(round_s / products.eager_s), 1, 200))
    plan = LockstepPlan(WARMUP, burst, WARMUP + rounds * burst)
    ways: dict[str, dict[str, Any]] = {engine: {"engine": engine} for engine in ENGINES}
    tried = ABLATIONS.get(subject.name, ()) if ablations else ()
    ways |= {str(ablation): {"engine": ablation.engine, **ablation.settings} for ablation in tried}
    loads: list[Load | None] = []
    launchers = {name: functools.partial(_launch, subject, plan, way) for name, way in ways.items()}
    lockstep = Lockstep(plan, launchers, on_load=loads.append)
    comparison = Comparison(subject.name, plan, [*ways], loads, lockstep=lockstep)
    lockstep.start()
    comparison.wait()
    errors = comparison.errors

    def told(name: str, over: str) -> Measured:
        return _told(comparison, subject, products, name, over, errors.get(name, ""))

    return Outcome(
        subject.name,
        rounds,
        subject.batch_size,
        products,
        tuple(told(engine, EAGER) for engine in ENGINES),
        tuple(told(str(ablation), ablation.engine) for ablation in tried),
        comparison.warning,
    )


def _launch(subject: Subject, plan: LockstepPlan, way: dict[str, Any]) -> Run:
    settings = {**subject.settings, "evaluate": False, "steps": plan.total, **way}
    model, data, config = prepare(subject.model, subject.data, settings)
    started = launch(model, data, config, granted_steps=0)
    return Run(started.folder, worker=started.worker, model=model, code=started.code)


def _told(
    comparison: Comparison, subject: Subject, products: Products, name: str, over: str, error: str
) -> Measured:
    nothing = float("nan")
    table = comparison.table()
    row, reference = table.loc[name], table.loc[over]
    if error or row["status"] != "completed":
        empty = Ratio(nothing, nothing, nothing)
        found = error or str(row["status"])
        return Measured(name, empty, *[nothing] * 6, found.splitlines()[0])
    step_s = subject.batch_size / float(row["samples_per_s"])
    return Measured(
        name,
        ratio(comparison.rounds(name), comparison.rounds(over)),
        float(row["peak_memory_mb"] / reference["peak_memory_mb"]),
        float(row["peak_memory_mb"]),
        step_s,
        float(row["startup_s"]),
        _loss_difference(comparison.runs[name], comparison.runs[EAGER]),
        products.seconds / step_s,
        str(row["pytorch_fallbacks"]),
    )


def _loss_difference(one: Run, other: Run) -> float:
    losses, others = (run.follow().poll().loss[:COMPARED] for run in (one, other))
    return largest_difference(losses, others)


def aims(name: str, engine: str) -> tuple[float, float]:
    """The least throughput and the most memory, over eager PyTorch's, that an engine aims for."""
    if engine == "ondevice":
        return 1.5, 1 / 3
    return (1.5 if name in LANGUAGE else 1.1), 1.0

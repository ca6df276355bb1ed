"""ORTModule, torch.compile and eager PyTorch in lock step, on every sample and on larger models."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import workbench as wb
from benchmarks.result import Result
from sample_models import SAMPLES
from workbench.compare import Comparison

ENGINES = ("pytorch", "pytorch-compile", "ortmodule")
STEPS, QUICK_STEPS = 45, 25
ROWS = 64
"""Of the random data that the larger models train on."""

TRANSFORMERS = ("bert", "gpt2", "vit")
LARGER = (*TRANSFORMERS, "resnet")
AIM, TRANSFORMER_AIM = 1.0, 1.5


class Subject(NamedTuple):
    """One model with its data, ready to be compared."""

    name: str
    model: wb.Model
    data: wb.Dataset
    batch_size: int
    aim: float


def measure(quick: bool) -> list[Result]:
    names = [*LARGER] if quick else [*SAMPLES, *LARGER]
    return [result for name in names for result in measure_one(name, quick)]


def measure_one(name: str, quick: bool) -> list[Result]:
    subject = load(name)
    steps = QUICK_STEPS if quick else STEPS
    compared = wb.compare(
        subject.model,
        subject.data,
        engines=list(ENGINES),
        steps=steps,
        batch_size=subject.batch_size,
        evaluate=False,
    ).wait()
    table = compared.table()
    row = table.loc["ortmodule"]
    return [
        Result(
            what=f"throughput of `ortmodule` over `pytorch`, {name}",
            value=float(row["ratio"]),
            low=float(row["ratio_low"]),
            high=float(row["ratio_high"]),
            spread=f"95 % interval, {steps} steps in lock step",
            unit="",
            aim=subject.aim,
            at_least=True,
            note=_note(compared),
        )
    ]


def _note(compared: Comparison) -> str:
    """What the ratio leaves out: the other engines, memory, start-up and when it is paid back."""
    table = compared.table()
    eager, compiled, ort = (table.loc[engine] for engine in ENGINES)
    batch = next(iter(compared.runs.values())).config.batch_size
    step = float(batch / eager["samples_per_s"])
    saved = step * (1 - 1 / float(ort["ratio"]))
    later = float(ort["startup_s"] - eager["startup_s"])
    paid = f"paid back after {math.ceil(later / saved)} steps" if saved > 0 else "never paid back"
    return (
        f"eager {1e3 * step:.1f} ms a step, batch {batch}; `pytorch-compile` "
        f"{compiled['ratio']:.2f} [{compiled['ratio_low']:.2f}, {compiled['ratio_high']:.2f}]; "
        f"peak memory {eager['peak_memory_mb']:.0f} / {compiled['peak_memory_mb']:.0f} / "
        f"{ort['peak_memory_mb']:.0f} MB; start-up {eager['startup_s']:.1f} / "
        f"{compiled['startup_s']:.1f} / {ort['startup_s']:.1f} s, {paid}; largest loss difference "
        f"{ort['max_loss_difference']:.0e}"
        f"{'; ' * bool(compared.warning)}{compared.warning}"
    )


def load(name: str) -> Subject:
    """A sample with its data and defaults, or a larger model with random data."""
    if name in SAMPLES:
        model = wb.load_model(name)
        aim = TRANSFORMER_AIM if name.startswith(("text", "hf")) else AIM
        return Subject(name, model, wb.load_dataset(name), model.defaults["batch_size"], aim)
    model = wb.load_model(f"benchmarks.transformers_models:{name}", name=name)
    random = np.random.default_rng(0)
    (spec,) = model.inputs
    classes = int(model.outputs[0].shape[-1])
    if spec.dtype == "int64":
        x = random.integers(0, classes, (ROWS, *spec.shape[1:]))
        y = random.integers(0, classes, x.shape)
    else:
        x = random.normal(size=(ROWS, *spec.shape[1:])).astype(np.float32)
        y = random.integers(0, classes, ROWS)
    data = wb.load_dataset(x, y, test_fraction=0)
    return Subject(name, model, data, 8, TRANSFORMER_AIM if name in TRANSFORMERS else AIM)

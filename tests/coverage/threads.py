"""Steps repeated with several threads beside the same steps with one: what loses updates.

    python -m tests.coverage.threads REPEATS ENGINES [PATTERN ...]

runs the cases of such names (fnmatch) under ENGINES, separated by semicolons or "all", and prints
for each case {case: {engine: {threads: [wrong, other bits, worst]}}}: how many of the
repetitions differ from one thread by more than rounding, how many in any bit, and the largest
difference, relative to the largest number of the same tensor. A crash is the answer of one engine
to one case.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.coverage.case import Variant
from tests.coverage.cases_threads import CASES
from tests.coverage.parity import Step, export, one_step, session, trained_names, write_graphs
from tests.forked import outcome
from tests.parity import warm_up
from workbench import ORTModule
from workbench.machine.threads import RECORD
from workbench.ort.native import native
from workbench.ort.ortmodule.capture import cached_exports
from workbench.ort.ortmodule.capture.export import STATE_PREFIX, ForwardGraph
from workbench.settings.ortmodule_options import ORTModuleOptions
from workbench.trainable.make import leading_to_outputs

ROWS = 16
"""Of the batch."""

ROUNDING = 1e-5
"""Largest difference, relative to the largest number of a tensor, that another order of a sum of
8,192 float32 may make; one lost update of a sum makes about 1e-2."""

THREADS = (2, 4)

Work = Callable[[], dict[str, np.ndarray]]
"""One step: the result and the gradients by name, in memory of their own."""


def measured(variant: Variant, repeats: int, engines: tuple[str, ...]) -> dict[str, Any]:
    """The results of each engine for a module, by the number of its threads."""
    torch.manual_seed(0)
    module = variant.build()
    generator = torch.Generator().manual_seed(1)
    step = one_step(copy.deepcopy(module), variant.sample(ROWS, generator), generator)
    exported = export(module, step, variant)
    ways = {"ondevice": ondevice, "ortmodule": ortmodule, "ortmodule, kernels": with_kernels}
    return {
        engine: outcome(partial(_compared, partial(ways[engine], module, step, exported), repeats))
        for engine in engines
    }


def _compared(make: Callable[[int], Any], repeats: int) -> dict[int, list[float]]:
    with make(1) as work:
        reference = work()
    found = {}
    for threads in THREADS:
        with make(threads) as work:
            differences = [_difference(work(), reference) for _ in range(repeats)]
        wrong = sum(not each <= ROUNDING for each in differences)
        found[threads] = [wrong, sum(each != 0 for each in differences), max(differences)]
    return found


def _difference(got: dict[str, np.ndarray], reference: dict[str, np.ndarray]) -> float:
    worst = 0.0
    for name, expected in reference.items():
        largest = max(float(np.abs(expected).max()), 1e-30)
        difference = float(np.abs(got[name] - expected).max()) / largest
        worst = max(worst, difference if np.isfinite(difference) else 1e30)
    return worst


@contextmanager
def ondevice(module: nn.Module, step: Step, exported: ForwardGraph, threads: int) -> Iterator[Work]:
    graph = exported.model
    trainable = leading_to_outputs(graph, trained_names(module))
    inputs = dict(zip(exported.inputs, step.inputs, strict=True))
    fed = [inputs[value.name].numpy() for value in graph.graph.input if value.name in inputs]
    fed.append(step.target.numpy())
    with tempfile.TemporaryDirectory() as folder:
        write_graphs(graph, module, trainable, Path(folder))
        native = session(Path(folder), threads=threads)
        native.set_learning_rate(0.0)

        def work() -> dict[str, np.ndarray]:
            loss = native.train_step(fed)
            return {"loss": np.array(loss)} | {name: native.gradient(name) for name in trainable}

        yield work


@contextmanager
def ortmodule(
    module: nn.Module,
    step: Step,
    exported: ForwardGraph,
    threads: int,
    *,
    pytorch_kernels: bool = False,
) -> Iterator[Work]:
    cached_exports.export_forward = lambda *_, **__: exported  # type: ignore[assignment]
    torch.set_num_threads(threads)
    # More threads than there are cores show what loses updates; only a record may ask for them.
    wanted = {"threads": threads, "pytorch_kernels": pytorch_kernels}
    options = ORTModuleOptions.model_validate(wanted, context=RECORD)
    module = copy.deepcopy(module)
    wrapped = ORTModule(module, options)

    def work() -> dict[str, np.ndarray]:
        module.zero_grad()
        output = wrapped(*step.inputs)
        nn.functional.mse_loss(output, step.target).backward()
        gradients = {
            STATE_PREFIX + name: value.grad.numpy().copy()
            for name, value in module.named_parameters()
            if value.grad is not None
        }
        return {"output": output.detach().numpy().copy()} | gradients

    yield work


with_kernels = partial(ortmodule, pytorch_kernels=True)
ENGINES = ("ondevice", "ortmodule", "ortmodule, kernels")


def main(repeats: str, engines: str, *patterns: str) -> None:
    chosen = ENGINES if engines == "all" else tuple(engines.split(";"))
    native()
    warm_up()
    for case in CASES:
        if any(fnmatchcase(case.name, each) for each in patterns or ["*"]):
            found = outcome(partial(measured, case.variants[0], int(repeats), chosen))
            print(json.dumps({case.name: found}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

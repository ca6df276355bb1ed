"""The largest batch that trains within a memory limit: eager, and ORTModule's memory optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import workbench as wb
from benchmarks.result import Result
from workbench.errors import RunError

LIMIT_MB = 1200
STEPS = 3
LARGEST, RESOLUTION = 256, 8
"""Batches are tried in steps of `RESOLUTION`."""

WAYS: Mapping[str, Mapping[str, Any]] = {
    "`pytorch`": {"engine": "pytorch"},
    "`ortmodule`, memory optimizer off": {
        "engine": "ortmodule",
        "ortmodule": {"memory_optimizer_level": 0},
    },
    "`ortmodule`, memory optimizer level 1": {
        "engine": "ortmodule",
        "ortmodule": {"memory_optimizer_level": 1},
    },
    "`ortmodule`, memory optimizer level 2": {
        "engine": "ortmodule",
        "ortmodule": {"memory_optimizer_level": 2},
    },
}


def measure(quick: bool) -> list[Result]:
    """By bisection; a batch that fails once counts as too large. `quick` looks at two ways."""
    model = wb.load_model("benchmarks.models.transformers_models:gpt2", name="gpt2")
    random = np.random.default_rng(0)
    rows = random.integers(0, 2000, (LARGEST, 128))
    data = wb.load_dataset(rows, random.integers(0, 2000, rows.shape), test_fraction=0)
    ways = dict(list(WAYS.items())[:2]) if quick else WAYS
    found = {name: largest(model, data, settings) for name, settings in ways.items()}
    off = found["`ortmodule`, memory optimizer off"]
    results = []
    for name, batch in found.items():
        optimized = "level" in name
        results.append(
            Result(
                what=f"largest batch of gpt2 within {LIMIT_MB} MB, {name}",
                value=batch,
                low=batch,
                high=batch + RESOLUTION,
                spread="the next one tried failed",
                unit="sequences",
                aim=off + RESOLUTION if optimized else RESOLUTION,
                at_least=True,
            )
        )
    return results


def largest(model: wb.Model, data: wb.Dataset, settings: Mapping[str, Any]) -> int:
    """The largest multiple of `RESOLUTION` that fits, 0 if none does."""
    fits, fails = 0, LARGEST // RESOLUTION + 1
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if trains(model, data, middle * RESOLUTION, settings):
            fits = middle
        else:
            fails = middle
    return fits * RESOLUTION


def trains(model: wb.Model, data: wb.Dataset, batch: int, settings: Mapping[str, Any]) -> bool:
    """Whether a few steps end within the limit."""
    limit = LIMIT_MB * 1_000_000
    run = wb.train(
        model,
        data,
        steps=STEPS,
        batch_size=batch,
        memory_limit_bytes=limit,
        evaluate=False,
        **settings,
    )
    try:
        run.wait()
    except RunError as error:
        if "memory" in str(error):
            return False
        raise
    return True

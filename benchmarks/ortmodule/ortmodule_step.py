"""Median step of ORTModule over eager PyTorch's, in lockstep; their threads must not fight."""

from __future__ import annotations

import numpy as np

import workbench as wb
from benchmarks.result import Result
from workbench.compare.lockstep import make_plan
from workbench.compare.rounds.statistics import ratio

STEPS, QUICK_STEPS = 4000, 400


def measure(quick: bool) -> list[Result]:
    steps = QUICK_STEPS if quick else STEPS
    comparison = wb.compare("digits-mlp", engines=["pytorch", "ortmodule"], steps=steps).wait()
    medians = {
        engine: round_medians(np.asarray(run.history["seconds"]), run.config.warmup_steps)
        for engine, run in comparison.runs.items()
    }
    found = ratio(medians["ortmodule"], medians["pytorch"])
    milliseconds = {engine: 1e3 * float(np.median(all_)) for engine, all_ in medians.items()}
    return [
        Result(
            what="median step, `ortmodule` over `pytorch`, digits-mlp",
            value=found.median,
            low=found.low,
            high=found.high,
            spread=f"95 % interval over {len(medians['pytorch'])} rounds",
            unit="",
            aim=1.1,
            note=", ".join(f"`{name}` {value:.3f} ms" for name, value in milliseconds.items()),
        )
    ]


def round_medians(seconds: np.ndarray, warmup_steps: int) -> np.ndarray:
    """(rounds,) median duration of a step in each round of the comparison, in seconds."""
    plan = make_plan(len(seconds), warmup_steps)
    warmup = max(1, plan.warmup)
    rounds = (len(seconds) - warmup) // plan.burst
    measured = seconds[warmup : warmup + rounds * plan.burst]
    return np.asarray(np.median(measured.reshape(rounds, plan.burst), axis=1))

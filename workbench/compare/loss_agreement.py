"""Whether the losses of engines that trained on the same batches agree, in a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from workbench.compare.rounds.recorded_steps import StepArrays
from workbench.compare.rounds.statistics import largest_difference
from workbench.display.number_format import significant
from workbench.runs import Run

AGREE = 1e-3
"""Losses agree if they differ by less than this share of the reference's largest one."""
BY_CHANCE = (
    "The model draws random numbers, as for Dropout, and each engine draws its own: the losses "
    "differ by chance."
)


def random_draws(runs: Mapping[str, Run]) -> list[str]:
    """A sentence on losses that differ between engines because the model draws random numbers."""
    known = [run.statistics for run in runs.values()]
    draws = any(statistics is not None and statistics.draws for statistics in known)
    return [BY_CHANCE] if draws and len({run.engine for run in runs.values()}) > 1 else []


def loss_agreement(
    runs: Mapping[str, Run], steps_of: Callable[[Run], StepArrays], reference: str
) -> list[str]:
    """A sentence on how far the losses of the engines differ, once all have ended.

    Args:
        runs: by engine.
        steps_of: returns the recorded steps of a run.
        reference: the engine that the others are compared with.
    """
    if reference not in runs or len(runs) < 2 or not all(run.ended for run in runs.values()):
        return []
    if by_chance := random_draws(runs):
        return by_chance
    base = steps_of(runs[reference]).loss
    others = [steps_of(run).loss for engine, run in runs.items() if engine != reference]
    largest = max(largest_difference(losses, base) for losses in others)
    if not math.isfinite(largest):
        return []
    if largest == 0:
        return ["The losses are the same."]
    by = f"by at most {significant(largest)} at the same step"
    agree = largest < AGREE * float(np.max(np.abs(base)))
    return [f"The losses agree: they differ {by}." if agree else f"The losses differ {by}."]

"""Two engines whose steps take turns, and whether their results agree."""

from __future__ import annotations

import numpy as np

from workbench.compare.rounds.statistics import MIN_ROUNDS, Ratio, ratio
from workbench.engines.base import Gradients
from workbench.profiling.steps import EngineSteps
from workbench.tune.turns import turn
from workbench.verification.agreement import gradient_rows, loss_error

FASTER = 0.99
"""Another library is chosen for a family if the interval of the step's ratio ends below this."""

ROUNDS = 11

FEWEST_STEPS = 2
"""Fewest steps of a turn: none follows a pause, unlike those of processes."""

TOLERANCE = 1e-4
"""The largest relative difference of losses and gradients, as in a verification."""


def difference(expected: Gradients, found: Gradients) -> float:
    """The largest relative difference of the losses and the gradients of a batch."""
    shapes = {name: value.shape for name, value in expected.gradients.items()}
    shapes |= {name: value.shape for name, value in found.gradients.items()}
    rows = gradient_rows("", shapes, expected.gradients, found.gradients)
    errors = [row.relative_error for row in rows]
    return max([loss_error(expected.loss, found.loss), *errors])


def timed(
    first: EngineSteps, second: EngineSteps, *, whole: bool = False
) -> tuple[Ratio, np.ndarray]:
    """Run both in turn, round after round; the first alternates.

    Args:
        whole: take all rounds; otherwise fewer where the second is clearly not faster.

    Returns:
        Time of the second over the first's, and the (rounds,) seconds of a step of the second.
    """
    rounds: list[tuple[float, float]] = []
    for most in (MIN_ROUNDS, ROUNDS):
        while len(rounds) < most:
            order = (first, second) if len(rounds) % 2 else (second, first)
            seconds = {id(steps): turn(steps, FEWEST_STEPS) for steps in order}
            rounds.append((seconds[id(first)], seconds[id(second)]))
        of_first, of_second = np.asarray(rounds).T
        found = ratio(of_second, of_first)
        if not whole and found.low > FASTER:
            break
    return found, of_second

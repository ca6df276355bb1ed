"""Test losses that were lower before the end of a training: what over-fitting looks like."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.chart_series.evaluations import Evaluations
from workbench.controller.jobs.outcome import listed
from workbench.display.number_format import loss_text

RISEN = 1.2
"""The last test loss is told to have risen where it is more than so many times the lowest."""


def risen_losses(evaluations: Mapping[str, Evaluations], word: str) -> list[str]:
    """A sentence for the engines whose test loss has risen, those of the same lowest one together.

    Args:
        evaluations: by engine.
        word: that for a step, or a round.
    """
    groups: dict[str, list[str]] = {}
    for engine, found in evaluations.items():
        step, loss = found.array[:2]
        finite = np.isfinite(loss)
        if not finite.any() or not finite[-1]:
            continue
        lowest = int(np.nanargmin(np.where(finite, loss, np.nan)))
        if 0 < RISEN * loss[lowest] < loss[-1]:
            place = f"{word} {int(step[lowest]):,}"
            groups.setdefault(f"{loss_text(loss[lowest])} at {place}", []).append(engine)
    whose = {text: f" of {listed(names)}" for text, names in groups.items()}
    return [
        f"The test loss{whose[text] if len(evaluations) > 1 else ''} was lowest, {text}, and has "
        "risen since."
        for text in groups
    ]

"""Records the norms of gradients and updates of each layer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from workbench.engines.base import ParameterNorms
from workbench.run_folder.events import EventWriter
from workbench.worker.float_digits import rounded


class LayerRecorder:
    """Writes the gradient norm and the update-to-weight ratio of each layer every few steps."""

    def __init__(self, events: EventWriter, every_steps: int | None) -> None:
        """Record the first step and every `every_steps` steps; None: none."""
        self._events = events
        self._every_steps = every_steps
        self._names: list[str] = []

    def is_due(self, step: int) -> bool:
        """Whether step number `step` is to be recorded."""
        every = self._every_steps
        return every is not None and (step == 1 or step % every == 0)

    def add(self, step: int, norms: Mapping[str, ParameterNorms]) -> None:
        """Record a step, by the norms of its trained parameters."""
        layers: dict[str, list[ParameterNorms]] = {}
        for name, one in norms.items():
            layers.setdefault(name.rpartition(".")[0] or "(root)", []).append(one)
        if list(layers) != self._names:
            self._names = list(layers)
            self._events.write("layers", names=self._names)
        groups = list(layers.values())
        self._events.write(
            "layer_statistics",
            step=step,
            gradient_norms=[rounded(_joined(each.gradient for each in one)) for one in groups],
            update_ratios=[
                _ratio(_joined(each.update for each in one), _joined(each.weight for each in one))
                for one in groups
            ],
        )


def _joined(norms: Iterable[float]) -> float:
    """The norm of the concatenation of parts with these norms."""
    return math.hypot(*norms)


def _ratio(update: float, weight: float) -> float | None:
    return rounded(update / weight) if weight > 0 else None

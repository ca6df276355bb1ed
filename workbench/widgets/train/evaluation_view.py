"""Results of the evaluations on the test split, during a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from workbench.display.number_format import loss_text
from workbench.run_folder.events import Event
from workbench.widgets.bundle import bundle

METRICS = (
    ("loss", "Test loss", 1.0, ""),
    ("accuracy", "Accuracy", 100.0, " %"),
    ("perplexity", "Perplexity", 1.0, ""),
    ("r2", "R²", 1.0, ""),
    ("mean_absolute_error", "Mean absolute error", 1.0, ""),
)
"""Metrics of an event: key, name, factor and unit."""


class EvaluationView(anywidget.AnyWidget):
    """The last evaluation of each engine, and its confusion matrix where there are classes."""

    _esm = bundle("evaluation_view.js")
    _css = bundle("evaluation_view.css")

    evaluations = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "engine": traitlets.Unicode(),
                "when": traitlets.Unicode(),
                "metrics": traitlets.List(traitlets.List(traitlets.Unicode())),
                "confusion": traitlets.List(traitlets.List(traitlets.Int())),
            }
        )
    ).tag(sync=True)
    """One dict an engine: `when`, after which step; `metrics`, pairs of a name and a value with its
    unit; `confusion`, rows of true classes, columns of predicted ones, empty without classes."""
    classes = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Names of the classes; empty: their numbers are shown."""

    def clear(self) -> None:
        """Remove all evaluations."""
        self.evaluations = []

    def add(self, engine: str, events: Sequence[Event], federated: bool = False) -> None:
        """Add the events of a run other than steps; the steps of a federated one are rounds."""
        found = [event for event in events if event["event"] == "evaluation"]
        if found:
            others = [each for each in self.evaluations if each["engine"] != engine]
            self.evaluations = [*others, _record(engine, found[-1], federated)]


def _record(engine: str, event: Event, federated: bool) -> dict[str, Any]:
    step, epoch = event["step"], event["epoch"]
    metrics = []
    for key, name, factor, unit in METRICS:
        value = event.get(key)
        if key in event and key == "loss":
            metrics.append([name, "not finite" if value is None else loss_text(value)])
        elif isinstance(value, int | float) and math.isfinite(value):
            shown = f"{factor * value:.1f}" if unit else f"{value:.4g}"
            metrics.append([name, f"{shown}{unit}"])
    return {
        "engine": engine,
        "when": f"after round {step:,}" if federated else f"after step {step:,}, epoch {epoch}",
        "metrics": metrics,
        "confusion": event.get("confusion") or [],
    }

"""Norms of the gradients and updates of each layer, over the steps of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import numpy as np
import traitlets

from workbench.chart_series.layers import MEASURES, LayerSeries
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.run_folder.events import Event
from workbench.widgets.bundle import bundle

SETTING = "layer_statistics_every"
RECORDED_EVERY = 10
"""Steps, where the recording is switched on here."""


class LayerStatisticsView(anywidget.AnyWidget):
    """Gradient norm and update-to-weight ratio of each layer, where a run records them."""

    _esm = bundle("layer_statistics_view.js")
    _css = bundle("layer_statistics_view.css")

    engines = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "engine": traitlets.Unicode(),
                "layers": traitlets.List(traitlets.Unicode()),
                "steps": traitlets.List(traitlets.Int()),
                "values": traitlets.Bytes(),
            }
        )
    ).tag(sync=True)
    """One dict an engine that recorded steps; `values`, (2, layers, steps) float32: gradient norms,
    then update-to-weight ratios, NaN where they are not finite."""
    every = traitlets.Int(0).tag(sync=True)
    """Steps between two records of the next run; 0: none are recorded."""

    def __init__(self, typed: TypedSettings) -> None:
        """Create the view.

        Args:
            typed: the settings of the next run, one of which is that it records these statistics.
        """
        super().__init__()
        self._typed = typed
        typed.observe(self._on_settings)
        self._on_settings()
        self.on_msg(self._on_message)
        self._series: dict[str, LayerSeries] = {}
        self._changed = False

    def _on_settings(self) -> None:
        read = self._typed.read
        self.every = 0 if SETTING in read.problems else read.settings.get(SETTING) or 0

    def _on_message(self, _: Any, content: Any, __: Any) -> None:
        if content.get("kind") == "record":
            self._typed.type(SETTING, str(RECORDED_EVERY) if content.get("on") is True else "")

    def clear(self) -> None:
        """Remove all steps."""
        self._series = {}
        self._changed = False
        self.engines = []

    def add(self, engine: str, events: Sequence[Event], restored_step: int | None = None) -> None:
        """Add the events of a run other than steps; `flush` shows them.

        Args:
            engine: of the run.
            events: the next events.
            restored_step: set if the run was resumed after this step.
        """
        series = self._series.setdefault(engine, LayerSeries())
        if restored_step is not None:
            series.cut(restored_step)
        self._changed = series.add(events) or self._changed or restored_step is not None

    def flush(self) -> None:
        """Show the events added since the last call."""
        if not self._changed:
            return
        self._changed = False
        self.engines = [
            {
                "engine": engine,
                "layers": series.names,
                "steps": series.steps.tolist(),
                "values": _float32(series),
            }
            for engine, series in self._series.items()
            if len(series)
        ]


def _float32(series: LayerSeries) -> bytes:
    with np.errstate(over="ignore"):  # a norm beyond float32 is shown as not finite
        values = np.stack([series.values(measure) for measure in MEASURES])
        return values.astype(np.float32).tobytes()

"""Norms of the gradients and updates of each layer, over the steps of a run."""

from __future__ import annotations

from collections.abc import Sequence

import anywidget
import numpy as np
import traitlets

from workbench.chart_series.layers import MEASURES, LayerSeries
from workbench.run_folder.events import Event
from workbench.widgets.bundle import bundle


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

    def __init__(self) -> None:
        super().__init__()
        self._series: dict[str, LayerSeries] = {}
        self._changed = False

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

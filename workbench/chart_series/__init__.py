"""Recorded series, as charts draw them: steps in bounded memory, and all evaluations.

It takes numbers that were read from records, and imports numpy alone.
"""

from __future__ import annotations

from workbench.chart_series.blocks import COLUMNS, Blocks
from workbench.chart_series.incidents import Incident
from workbench.chart_series.recording import METRICS, Recording, StepValue
from workbench.chart_series.scale import LOG_SPREAD, loss_span, spread
from workbench.chart_series.smoothing import smoothed, trailing_rate

__all__ = [
    "COLUMNS",
    "LOG_SPREAD",
    "METRICS",
    "Blocks",
    "Incident",
    "Recording",
    "StepValue",
    "loss_span",
    "smoothed",
    "spread",
    "trailing_rate",
]

"""Recorded series of any length, in bounded memory: what charts and figures draw."""

from __future__ import annotations

from workbench.series.blocks import COLUMNS, Blocks
from workbench.series.incidents import Incident
from workbench.series.recording import METRICS, Recording, Value
from workbench.series.scale import LOG_SPREAD, spread
from workbench.series.smoothing import smoothed, trailing_rate

__all__ = [
    "COLUMNS",
    "LOG_SPREAD",
    "METRICS",
    "Blocks",
    "Incident",
    "Recording",
    "Value",
    "smoothed",
    "spread",
    "trailing_rate",
]

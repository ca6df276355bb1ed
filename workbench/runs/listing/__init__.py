"""A fast index of all recorded runs, updated incrementally."""

from __future__ import annotations

from workbench.runs.listing.index import Changes, RunIndex
from workbench.runs.listing.row import RunRow

__all__ = ["Changes", "RunIndex", "RunRow"]

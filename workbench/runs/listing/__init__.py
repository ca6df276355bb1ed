"""A fast list of all recorded runs, which is kept up to date by what has changed since."""

from __future__ import annotations

from workbench.runs.listing.index import Changes, RunIndex
from workbench.runs.listing.row import RunRow

__all__ = ["Changes", "RunIndex", "RunRow"]

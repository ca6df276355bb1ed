"""Comparisons: verdict, ratios, table and differing settings, and the view of all of them."""

from __future__ import annotations

from workbench.widgets.compare.comparison_table import ComparisonTable
from workbench.widgets.compare.comparison_view import ComparisonView

__all__ = ["ComparisonTable", "ComparisonView"]

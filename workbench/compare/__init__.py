"""Comparisons: the same training with several engines in lockstep.

It starts and reads runs, and is independent of engines and workers.
"""

from __future__ import annotations

from workbench.compare.columns import COLUMNS, MARK
from workbench.compare.compare import compare
from workbench.compare.comparison import Comparison
from workbench.compare.load_comparison import load_comparison
from workbench.compare.recorded_runs.compare_runs import compare_runs
from workbench.compare.recorded_runs.run_comparison import RunComparison
from workbench.compare.verdict import Verdict

__all__ = [
    "COLUMNS",
    "MARK",
    "Comparison",
    "RunComparison",
    "Verdict",
    "compare",
    "compare_runs",
    "load_comparison",
]

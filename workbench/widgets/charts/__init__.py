"""Charts of runs: loss, throughput, memory and an evaluation metric."""

from __future__ import annotations

from workbench.widgets.charts.charts import (
    DATA_HINT,
    EMPTY_HINT,
    NOTHING_HINT,
    READY_HINT,
    WAITING_HINT,
    Charts,
    results_in_runs,
)

__all__ = [
    "DATA_HINT",
    "EMPTY_HINT",
    "NOTHING_HINT",
    "READY_HINT",
    "WAITING_HINT",
    "Charts",
    "results_in_runs",
]

"""Charts of runs: loss, throughput, memory and an evaluation metric."""

from __future__ import annotations

from workbench.widgets.charts.charts import Charts
from workbench.widgets.charts.hints import (
    COMPARING_HINT,
    DATA_HINT,
    EMPTY_HINT,
    LOSS_HINT,
    NOTHING_HINT,
    READING_HINT,
    READY_HINT,
    UNFIT_HINT,
    WAITING_HINT,
    deleted_run,
    other_model,
    results_in_runs,
    resumed_run,
)
from workbench.widgets.charts.notes import IN_SEQUENCE, MACHINE_BUSY, OF_ROUNDS, throughput_notes

__all__ = [
    "COMPARING_HINT",
    "DATA_HINT",
    "EMPTY_HINT",
    "IN_SEQUENCE",
    "LOSS_HINT",
    "MACHINE_BUSY",
    "NOTHING_HINT",
    "OF_ROUNDS",
    "READING_HINT",
    "READY_HINT",
    "UNFIT_HINT",
    "WAITING_HINT",
    "Charts",
    "deleted_run",
    "other_model",
    "results_in_runs",
    "resumed_run",
    "throughput_notes",
]

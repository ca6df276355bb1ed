"""One row of the table of recorded runs that were not measured together."""

from __future__ import annotations

import math
from typing import Any

from workbench.compare.columns import TESTED
from workbench.compare.comparison_row import pytorch_fallbacks_of
from workbench.compare.recorded_runs.final_losses import last_tested
from workbench.run_folder.run_reader import NewPoints
from workbench.runs import Run

NOT_LOCKSTEP = "The runs were not measured in lockstep."


def recorded_row(run: Run, points: NewPoints, speed: float, reference: float) -> dict[str, Any]:
    """The columns of `COLUMNS` and `TESTED` that describe `run`.

    Args:
        run: the run.
        points: what it has recorded.
        speed: its throughput, in samples per second.
        reference: that of the reference; NaN: they do not compare.
    """
    summary = run.summary or {}
    peak, before = summary.get("peak_rss_bytes"), summary.get("rss_before_bytes")
    return {
        "samples_per_s": speed,
        "ratio": speed / reference if reference else math.nan,
        "rounds": 0,
        "peak_memory_mb": peak / 1e6 if peak else math.nan,
        "memory_growth_mb": (peak - before) / 1e6 if peak and before else math.nan,
        "startup_s": run.startup_s,
        "steps": len(points.loss),
        "final_loss": points.loss[-1] if len(points.loss) else math.nan,
        **{column: last_tested(points, name) for column, name in TESTED.items()},
        "status": run.status,
        "pytorch_fallbacks": pytorch_fallbacks_of(run),
        "warning": NOT_LOCKSTEP,
    }

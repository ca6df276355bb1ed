"""One row of the table of a comparison: the measurements of one engine."""

from __future__ import annotations

import math
from typing import Any

from workbench.compare.rounds.recorded_steps import StepArrays
from workbench.compare.rounds.statistics import Speed, largest_difference
from workbench.runs import Run


def measured_row(
    run: Run, speed: Speed, steps: StepArrays, reference: StepArrays | None
) -> dict[str, Any]:
    """The columns of `COLUMNS` that describe `run`.

    Args:
        run: run of the engine.
        speed: its throughput and ratio.
        steps: its recorded steps.
        reference: the same of the reference; None: it has no run.
    """
    summary = run.summary or {}
    peak = summary.get("peak_rss_bytes")
    before = summary.get("rss_before_bytes")
    nothing = float("nan")
    # One that failed before a round was measured has that of its own steps, as among the runs.
    measured = math.isfinite(speed.samples_per_s)
    rate = speed.samples_per_s if measured else run.samples_per_s
    return {
        "samples_per_s": rate,
        "ratio": speed.ratio.median,
        "ratio_low": speed.ratio.low,
        "ratio_high": speed.ratio.high,
        "rounds": speed.rounds,
        "peak_memory_mb": peak / 1e6 if peak else nothing,
        "memory_growth_mb": (peak - before) / 1e6 if peak and before else nothing,
        "startup_s": run.startup_s,
        "steps": len(steps.step),
        "final_loss": steps.loss[-1] if len(steps.loss) else nothing,
        "max_loss_difference": (
            largest_difference(steps.loss, reference.loss) if reference else nothing
        ),
        "status": run.status,
        "pytorch_fallbacks": pytorch_fallbacks_of(run),
    }


def row_without_run(status: str) -> dict[str, Any]:
    """The row of an engine that has no run, or none that can be read."""
    return {"rounds": 0, "steps": 0, "status": status, "pytorch_fallbacks": "", "warning": ""}


def pytorch_fallbacks_of(run: Run) -> str:
    """Fallbacks to PyTorch in the engine's run, in sentences; empty if there were none."""
    statistics = run.statistics
    return " ".join(map(str, statistics.pytorch_fallbacks)) if statistics else ""

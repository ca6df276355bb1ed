"""How long a run was in progress, from its record."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.run_folder.run_folder import RunFolder

if TYPE_CHECKING:
    from workbench.runs.record.labelled_run import LabelledRun


def duration_s(
    folder: RunFolder, spec: dict[str, Any], summary: dict[str, Any] | None, active: bool
) -> float:
    """Seconds from launch to end, pauses included, in wall-clock time.

    For a resumed run, the time between its end and its resumption is left out.

    Args:
        folder: of the run.
        spec: its spec.
        summary: its summary; None if there is none, or it cannot be read.
        active: whether its worker is alive.

    Returns:
        The seconds until now of an active run; NaN where the record has no times.
    """
    launched, ended = _time(spec, "launched"), _time(summary or {}, "ended")
    if math.isnan(ended):
        ended = time.time() if active else _last_written(folder)
    earlier = spec.get("earlier_s")
    # A clock may have been set back since. NaN stays NaN in this order.
    return max(ended - launched, 0.0) + (0.0 if earlier is None else float(earlier))


def total_duration_s(runs: Sequence[LabelledRun]) -> float:
    """Seconds from the first launch to the last end of several runs.

    They overlap in a comparison, where they take turns. NaN if the records have no times.
    """
    if len(runs) == 1:
        return runs[0].duration_s
    launched = [_time(run.spec, "launched") for run in runs]
    ended = [start + run.duration_s for start, run in zip(launched, runs, strict=True)]
    known = [end for end in ended if not math.isnan(end)]
    return max(known) - min(launched) if known else math.nan


def started_at(spec: dict[str, Any]) -> float:
    """When the run was first launched, in seconds since the epoch; NaN if that is not recorded."""
    first = _time(spec, "first_launched")
    return _time(spec, "launched") if math.isnan(first) else first


def _time(record: dict[str, Any], name: str) -> float:
    value = record.get(name)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and abs(value) < 1e12 else math.nan  # type: ignore[arg-type]


def _last_written(folder: RunFolder) -> float:
    """When a worker that left no summary last wrote an event."""
    with contextlib.suppress(OSError):
        return folder.events_path.stat().st_mtime
    return math.nan

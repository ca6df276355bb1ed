"""How long a run was in progress, from its record."""

from __future__ import annotations

import contextlib
import math
import time
from typing import Any

from workbench.run_folder.run_folder import RunFolder


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
    launched, ended = recorded_time(spec, "launched"), recorded_time(summary or {}, "ended")
    if math.isnan(ended):
        ended = time.time() if active else _last_written(folder)
    earlier = spec.get("earlier_s")
    # A clock may have been set back since. NaN stays NaN in this order.
    return max(ended - launched, 0.0) + (0.0 if earlier is None else float(earlier))


def started_at(spec: dict[str, Any]) -> float:
    """When the run was first launched, in seconds since the epoch; NaN if that is not recorded."""
    first = recorded_time(spec, "first_launched")
    return recorded_time(spec, "launched") if math.isnan(first) else first


def recorded_time(record: dict[str, Any], name: str) -> float:
    """A time of a spec or a summary, in seconds since the epoch; NaN if it is not recorded."""
    value = record.get(name)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and abs(value) < 1e12 else math.nan  # type: ignore[arg-type]


def _last_written(folder: RunFolder) -> float:
    """When a worker that left no summary last wrote an event."""
    with contextlib.suppress(OSError):
        return folder.events_path.stat().st_mtime
    return math.nan

"""What a run is called that nobody has named."""

from __future__ import annotations

import contextlib
import time


def run_title(model: str, engine: str, started: float) -> str:
    """Model, engine and when it was started, as "digits-mlp · ondevice · 23 Nov 14:05:12".

    Args:
        model: its name.
        engine: its name.
        started: seconds since the epoch, shown in local time; NaN where it is not recorded.
    """
    parts = [part for part in (model, engine) if part]
    with contextlib.suppress(OverflowError, OSError, ValueError):  # NaN, or a year that is none
        now, moment = time.localtime(), time.localtime(started)
        day = f"{moment.tm_mday} {time.strftime('%b', moment)}"
        year = "" if moment.tm_year == now.tm_year else f" {moment.tm_year}"
        parts.append(f"{day}{year} {time.strftime('%H:%M:%S', moment)}")
    return " · ".join(parts)

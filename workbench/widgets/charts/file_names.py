"""What the file of charts is called, and the title in it: the runs as the page names them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence

BETWEEN = " · "
"""Between model, engine and start, as in `run_title`."""

LONGEST_STEM = 80


def chart_title(curves: Sequence[Mapping[str, str]]) -> str:
    """The runs and today's date, as "digits-mlp · pytorch · 23 Nov 22:08:25, saved 24 Nov 2026".

    Args:
        curves: label and detail of each, see `Charts.curves`.
    """
    names = run_names(curves) or "Charts"
    return f"{names}, saved {_date('%d %b %Y')}"


def chart_stem(curves: Sequence[Mapping[str, str]]) -> str:
    """The name of a file without its suffix, as "digits-mlp-pytorch-ondevice-2026-11-24", or
    "digits-mlp-pytorch-5-runs-2026-11-24"."""
    names: list[str] = []
    for curve in curves:
        # The start would make it long, and the date is at its end.
        names += [part for part in _title(curve).split(BETWEEN)[:2] if part not in names]
    if len(curves) > max(1, len(names) - 1):  # several of one engine
        names.append(f"{len(curves)} runs")
    stem = re.sub(r"[^\w.]+", "-", "-".join(names)).strip("-.")[:LONGEST_STEM].rstrip("-.")
    return f"{stem or 'charts'}-{_date('%Y-%m-%d')}"


def run_names(curves: Sequence[Mapping[str, str]]) -> str:
    """The runs in a line, each without what it shares with the one before: as `runNames` in
    run_names.ts."""
    titles = [_title(curve) for curve in curves]
    parts = [title.split(BETWEEN) for title in titles]
    alike = all(len(each) == 3 and each[0] == parts[0][0] for each in parts)
    if len(curves) < 2 or not alike:
        return "; ".join(titles)
    names: list[str] = []
    before = ""
    for (model, _, start), curve in zip(parts, curves, strict=True):
        day, clock = start[: start.rfind(" ") + 1], start[start.rfind(" ") + 1 :]
        time_text = clock if day == before else start
        label = curve["label"]
        shown = [label] if label.endswith(time_text) else [label, time_text]
        names.append(BETWEEN.join(shown if names else [model, *shown]))
        before = day
    return "; ".join(names)


def _title(curve: Mapping[str, str]) -> str:
    return curve["detail"] or curve["label"]


def _date(form: str) -> str:
    return time.strftime(form).lstrip("0")

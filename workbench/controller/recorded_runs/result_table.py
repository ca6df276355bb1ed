"""The results of runs as a static table, for output without widgets."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from workbench.controller.recorded_runs.run_detail import metric_text
from workbench.display.number_format import loss_text, significant
from workbench.display.quantities import duration_text
from workbench.runs import Run
from workbench.runs.listing.read_row import RowReader

HEADER = (
    "Engine",
    "Status",
    "Steps",
    "Last loss",
    "Metric",
    "Throughput, samples/s",
    "Peak memory, MB",
    "Duration",
)
NONE = "–"  # noqa: RUF001


class ResultTable(NamedTuple):
    """A row for each run, under `HEADER`."""

    title: str
    rows: list[list[str]]

    def html(self) -> str:
        """A table that every notebook viewer shows, also without scripts and styles."""
        heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in HEADER)
        rows = "".join(
            f'<tr><th scope="row">{escape(first)}</th>'
            + "".join(f"<td>{escape(text)}</td>" for text in others)
            + "</tr>"
            for first, *others in self.rows
        )
        title = escape(self.title)
        return (
            f'<table class="wb-static-table"><caption>{title}</caption>'
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def text(self) -> str:
        """The same as plain text."""
        lines = [
            ", ".join(f"{name}: {value}" for name, value in zip(HEADER, row, strict=True))
            for row in self.rows
        ]
        return "\n".join([self.title, *lines])


def result_table(runs: Iterable[Run], title: str) -> ResultTable:
    """Read it from the records of `runs`."""
    return ResultTable(title, [_row(run) for run in runs])


def _row(run: Run) -> list[str]:
    row = RowReader(run.folder).read()
    name = row.metric_name
    peak_bytes = (run.summary or {}).get("peak_rss_bytes")
    return [
        run.engine,
        row.status,
        f"{row.steps:,} of {row.total_steps:,}",
        loss_text(row.last_loss) if math.isfinite(row.last_loss) else NONE,
        f"{name} {metric_text(name, row.metric)}" if name else NONE,
        significant(row.samples_per_s),
        f"{peak_bytes / 1e6:,.0f}" if peak_bytes else NONE,
        duration_text(row.duration_s),
    ]

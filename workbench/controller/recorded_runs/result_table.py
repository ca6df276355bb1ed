"""The results of runs as a static table, for output without widgets."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from workbench.compare import Comparison, RunComparison
from workbench.compare.rounds.statistics import Ratio
from workbench.compare.verdict import ratio_numbers
from workbench.controller.recorded_runs.run_detail import metric_text
from workbench.display.number_format import loss_text, megabytes, significant
from workbench.display.quantities import duration_text
from workbench.runs import Run
from workbench.runs.listing.read_row import RowReader

HEADER = (
    *("Engine", "Status", "Steps", "Last loss", "Metric", "Throughput, samples/s"),
    *("Peak memory, MB", "Duration"),
)
RATIO = "Ratio (95 % interval)"
"""Head of one more column, of a comparison."""
NONE = "–"  # noqa: RUF001


class ResultTable(NamedTuple):
    """A row for each run, under `header`."""

    title: str
    rows: list[list[str]]
    header: tuple[str, ...] = HEADER

    def html(self) -> str:
        """A table that every notebook viewer shows, also without scripts and styles."""
        heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in self.header)
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
            ", ".join(f"{name}: {value}" for name, value in zip(self.header, row, strict=True))
            for row in self.rows
        ]
        return "\n".join([self.title, *lines])


def result_table(runs: Iterable[Run], title: str) -> ResultTable:
    """Read it from the records of `runs`."""
    return ResultTable(title, [_row(run.engine, run, math.nan) for run in runs])


def comparison_table(comparison: Comparison | RunComparison, title: str) -> ResultTable:
    """The same of the runs of a comparison, by its names, with its own throughput and ratios."""
    measured = comparison.table()[[*SPEEDS]]
    rows = []
    for name, run in comparison.runs.items():
        speed, *ratio = map(float, measured.loc[name])
        rows.append([*_row(name, run, speed), _ratio_text(*ratio)])
    return ResultTable(title, rows, (*HEADER, RATIO))


SPEEDS = ("samples_per_s", "ratio", "ratio_low", "ratio_high")


def _ratio_text(median: float, low: float, high: float) -> str:
    if not math.isfinite(median):
        return NONE
    written, lowest, highest = ratio_numbers(Ratio(median, low, high))
    return f"{written} ({lowest} to {highest})" if math.isfinite(low) else written


def _row(name: str, run: Run, measured_per_s: float) -> list[str]:
    """The row of a run; its throughput is its own where none was measured with others."""
    row = RowReader(run.folder).read()
    metric = row.metric_name
    peak_bytes = (run.summary or {}).get("peak_rss_bytes")
    return [
        name,
        row.status,
        f"{row.steps:,} of {row.total_steps:,}",
        loss_text(row.last_loss) if math.isfinite(row.last_loss) else NONE,
        f"{metric} {metric_text(metric, row.metric)}" if metric else NONE,
        significant(row.samples_per_s if math.isnan(measured_per_s) else measured_per_s)
        + (" (machine busy)" if row.disturbance else ""),
        megabytes(peak_bytes) if peak_bytes else NONE,
        duration_text(row.duration_s),
    ]

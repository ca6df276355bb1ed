"""Output of `workbench compare`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from workbench.cli.printing.output import echo, frame_rows, print_json, print_rows
from workbench.display.number_format import significant

if TYPE_CHECKING:
    from workbench.compare import Comparison

RATIO = ("ratio", "ratio_low", "ratio_high")
"""Columns with the digits of the verdict."""
SENTENCES = ("pytorch_fallbacks", "warning")
"""Columns printed below the table."""


def print_comparison(comparison: Comparison, json: bool) -> None:
    """Print a comparison that has ended: its verdict, table, caption and errors."""
    rows = frame_rows(comparison.table())
    if json:
        print_json(_document(comparison, rows))
        return
    from workbench.compare import MARK
    from workbench.compare.rounds.statistics import Ratio
    from workbench.compare.verdict import ratio_numbers

    pytorch_fallbacks = comparison.pytorch_fallbacks
    for row in rows:
        row["engine"] += MARK * (row["engine"] in pytorch_fallbacks)
        speed = row["samples_per_s"]
        row["samples_per_s"] = None if speed is None else significant(speed)
        found = Ratio(*(math.nan if row[name] is None else row[name] for name in RATIO))
        for name, value, text in zip(RATIO, found, ratio_numbers(found), strict=True):
            row[name] = text if math.isfinite(value) else None
        for name in SENTENCES:
            del row[name]
    # The verdict comes first: a ratio from a busy machine is not read before that is known.
    echo(f"{comparison.verdict().sentence}\n")
    print_rows(rows, "No engine ran.", right=("samples_per_s", *RATIO))
    echo(f"\n{comparison.caption}")
    for engine, cause in comparison.errors.items():
        echo(f"{engine} failed: {cause}")
    for engine, sentences in pytorch_fallbacks.items():
        echo(f"{MARK} {engine}: {sentences}")


def _document(comparison: Comparison, rows: list[dict[str, Any]]) -> dict[str, Any]:
    load = comparison.load
    return {
        "id": comparison.id,
        "status": comparison.status,
        "reference": comparison.reference,
        "caption": comparison.caption,
        "warning": comparison.warning,
        "verdict": comparison.verdict()._asdict(),
        "load": None if load is None else {**load._asdict(), "other_cores": load.other_cores},
        "round_loads": [each and each._asdict() for each in comparison.round_loads],
        "engines": rows,
        "runs": {engine: run.id for engine, run in comparison.runs.items()},
        "errors": comparison.errors,
    }

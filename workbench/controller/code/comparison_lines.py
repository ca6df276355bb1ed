"""The Python code that shows a comparison as the page does."""

from __future__ import annotations

DISPLAY = "from IPython.display import display"

SHOWN = (
    "print(comparison.verdict().sentence)",
    "display(comparison.differences())",
    "display(comparison.plot())",
    # A cell shows the value of its last line.
    "comparison.table()",
)
"""The lines for the name `comparison`; they need `DISPLAY`."""


def runs_compared(run_ids: list[str]) -> list[str]:
    """The lines that compare recorded runs."""
    ids = [f"        {run_id!r}," for run_id in run_ids]
    return ["comparison = wb.compare_runs(", "    [", *ids, "    ]", ")", *SHOWN]

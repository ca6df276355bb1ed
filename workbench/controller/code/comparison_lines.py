"""The Python code that shows a comparison as the page does."""

from __future__ import annotations

DISPLAY = "from IPython.display import display"

VERDICT = "print(comparison.verdict().sentence)"
SHOWN = (
    VERDICT,
    "display(comparison.plot())",
    # A cell shows the value of its last line.
    "comparison.table()",
)
"""The lines for the name `comparison`, of engines, whose settings are the same; they need
`DISPLAY`."""
RUNS_SHOWN = (VERDICT, "display(comparison.differences())", *SHOWN[1:])
"""The same of recorded runs."""


def runs_compared(run_ids: list[str]) -> list[str]:
    """The lines that compare recorded runs."""
    ids = [f"        {run_id!r}," for run_id in run_ids]
    return ["comparison = wb.compare_runs(", "    [", *ids, "    ]", ")", *RUNS_SHOWN]

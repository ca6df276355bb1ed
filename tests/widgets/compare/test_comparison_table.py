"""The table of a comparison."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import pandas as pd

from tests.runs.written import DONE, steps, write_run
from workbench.compare import COLUMNS, Verdict, compare_runs
from workbench.compare.verdict import Level
from workbench.widgets.compare.comparison_table import OF_APART, SHOWN, ComparisonTable


def test_figures_that_are_no_numbers_are_left_out_of_the_table() -> None:
    words = {"status": "running", "pytorch_fallbacks": "PyTorch ran it.", "warning": "busy"}
    figures = dict.fromkeys(COLUMNS, 1.0) | {"ratio": math.nan} | words
    frame = pd.DataFrame([figures], index=pd.Index(["fake"], name="engine"))
    comparison = SimpleNamespace(
        table=lambda: frame,
        reference="fake",
        caption="here",
        verdict=lambda: Verdict("fake is alone.", "", level),
    )
    level: Level = "quiet"
    table = ComparisonTable()
    table.show(comparison)  # type: ignore[arg-type]
    assert table.heading == "Engine"
    [row] = table.rows
    assert row["engine"] == "fake"
    assert row["cells"]["ratio"] is None
    assert row["cells"]["samples_per_s"] == 1.0
    assert row["cells"]["status"] == "running"
    assert row["note"] == "PyTorch ran it."
    json.dumps(table.rows, allow_nan=False)
    assert {column["key"] for column in table.columns} == set(SHOWN) - {*OF_APART} <= set(COLUMNS)
    assert table.columns[0]["unit"] == "samples/s, median of rounds"
    level = "busy"
    table.show(comparison)  # type: ignore[arg-type]
    units = [column["unit"] for column in table.columns[:2]]
    assert units == ["samples/s, machine busy, median of rounds", "machine busy"]
    frame["final_loss"] = math.nan
    table.show(comparison)  # type: ignore[arg-type]
    assert table.rows[0]["cells"]["final_loss"] == "not finite"
    frame["steps"] = 0
    table.show(comparison)  # type: ignore[arg-type]
    assert table.rows[0]["cells"]["final_loss"] is None
    frame.index.name = "run"
    table.show(comparison)  # type: ignore[arg-type]
    assert table.heading == "Run"


def test_accuracies_have_a_column_where_there_are_some() -> None:
    def shown(accuracy: float | None) -> set[str]:
        runs = []
        for engine in ("pytorch", "fake"):
            evaluation = {"event": "evaluation", "step": 2, "epoch": 1, "loss": 0.5}
            record = [steps(1, [1.0, 1.0]), {**evaluation, "accuracy": accuracy}]
            runs.append(write_run("a", record, DONE, engine=engine, warmup_steps=0))
        table = ComparisonTable()
        table.show(compare_runs(runs))
        return {column["key"] for column in table.columns}

    assert "test_accuracy" in shown(0.5)
    assert shown(0.5) - shown(None) == {"test_accuracy"}, "of a regression"

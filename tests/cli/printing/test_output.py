"""The output of commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workbench.cli.printing.output import as_json, frame_rows, print_facts, print_json, print_rows


def test_json_has_no_numbers_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(
        {
            "nan": float("nan"),
            "infinite": [np.float64("inf"), -np.inf],
            "array": np.arange(3),
            "scalar": np.int64(7),
            "path": Path("a") / "b",
            "tuple": (1, "x"),
        }
    )
    assert json.loads(capsys.readouterr().out) == {
        "nan": None,
        "infinite": [None, None],
        "array": [0, 1, 2],
        "scalar": 7,
        "path": str(Path("a") / "b"),
        "tuple": [1, "x"],
    }


def test_a_named_index_is_the_first_column() -> None:
    frame = pd.DataFrame({"ratio": [1.5, np.nan]}, index=pd.Index(["a", "b"], name="engine"))
    assert frame_rows(frame) == [
        {"engine": "a", "ratio": 1.5},
        {"engine": "b", "ratio": None},
    ]
    assert frame_rows(frame.reset_index(drop=True)) == [{"ratio": 1.5}, {"ratio": None}]


def test_values_that_json_supports_are_unchanged() -> None:
    for value in (None, True, 3, 2.5, "text"):
        assert as_json(value) is value


def test_a_piped_table_is_never_folded(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": "x" * 200, "loss": 0.123456, "missing": None}]
    print_rows(rows, "none")
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["id", "loss", "missing"]
    assert row.split() == ["x" * 200, "0.1235", "-"]


def test_markup_in_values_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([{"name": "[bold]w[/]"}], "none")
    assert "[bold]w[/]" in capsys.readouterr().out


def test_facts_line_up(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts({"id": "a", "samples_per_s": 12345.678, "error": None})
    assert capsys.readouterr().out.splitlines() == [
        "id             a",
        "samples_per_s  12346",
        "error          -",
    ]

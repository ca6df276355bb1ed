"""The benchmarks run and print what they measured; what they measure is never asserted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.__main__ import BENCHMARKS
from benchmarks.ortmodule_step import round_medians
from benchmarks.result import Result, as_markdown

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_benchmark_prints_a_table() -> None:
    outcome = run("import", "--quick")
    assert outcome.returncode == 0, outcome.stderr
    lines = outcome.stdout.splitlines()
    assert lines[0].startswith("| what | measured |")
    assert lines[2].startswith("| `import workbench` |")
    assert lines[-1].startswith("Machine: ")


def test_an_unknown_benchmark_is_wrong_usage() -> None:
    outcome = run("imprt")
    assert outcome.returncode == 2
    for name in BENCHMARKS:
        assert name in outcome.stderr


def test_a_figure_says_its_spread_aim_and_whether_it_met_it() -> None:
    met = Result("a", 1.01, 1.0, 1.02, "95 % interval", "", 1.03, note="of 5 runs")
    missed = Result("b", 2.0, 1.5, 2.5, "range", "s", 1.0)
    text = as_markdown([met, missed], "two cores")
    assert "| a | 1.010 | 1.000 | 1.020 | 95 % interval | ≤ 1.030 | yes |" in text
    assert "| b | 2.000 s | 1.500 s | 2.500 s | range | ≤ 1.000 s | no |" in text
    assert "- a: of 5 runs" in text


def test_medians_are_taken_round_by_round() -> None:
    """200 steps: 5 of warm-up, then bursts of 9, whose remainder is left out."""
    seconds = np.concatenate([np.full(5, 100.0), np.repeat(np.arange(21.0), 9), np.full(6, 100.0)])
    assert round_medians(seconds, 5).tolist() == list(range(21))

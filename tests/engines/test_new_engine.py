"""A new engine is one file and one entry: nothing else of the workbench knows this one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench as wb
from workbench.controller.engine_rows import engine_rows
from workbench.data import Dataset
from workbench.doctor.doctor import doctor
from workbench.errors import ConfigError
from workbench.profiling.__main__ import measured
from workbench.profiling.profile import profile
from workbench.profiling.request import ProfilingRequest
from workbench.settings.config import make_config
from workbench.settings.engines import engine_table, offered_engines
from workbench.widgets.charts import Charts
from workbench.widgets.compare.comparison_table import ComparisonTable
from workbench.widgets.train.engine_choice import EngineChoice

FILE = '''
"""The one file of an engine that is slower than the one it is made from."""

from workbench.engines.fake import FakeEngine
from workbench.run_folder.operator_timing import Timing
from workbench.settings.engines import EngineInfo

INFO = EngineInfo(
    name="lab",
    implementation="lab_engine:LabEngine",
    description="an engine of a laboratory",
    color="#aa5500",
    dark_color="#ffcc88",
    dash=(9, 2),
    needs_module=False,
    trains_artifacts=True,
    profilers=("onnxruntime",),
)


class LabEngine(FakeEngine):
    """Trains like the engine for tests."""

    def graph_timings(self, folder, windows):
        self.closed = True
        return [[Timing("forward", "Gemm", "", "lab", 1e6 + n)] for n, _ in enumerate(windows)]
'''

ENTRY = "[workbench.engines]\nlab = lab_engine:INFO\n"

PATIENCE_S = 120


@pytest.fixture
def _lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with the engine, installed for this process and those that it starts."""
    folder = tmp_path / "site"
    info = folder / "lab-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(ENTRY, "utf-8")
    (folder / "lab_engine.py").write_text(FILE, "utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    engine_table.cache_clear()
    yield
    engine_table.cache_clear()


@pytest.mark.usefixtures("_lab")
def test_it_is_in_every_list_and_in_the_style_of_the_charts() -> None:
    assert offered_engines()[-1] == "lab"
    choice = EngineChoice()
    choice.show(engine_rows())
    row = next(row for row in choice.rows if row["name"] == "lab")
    assert row["ok"]
    assert row["description"] == "an engine of a laboratory"
    style = {"color": "#aa5500", "dark_color": "#ffcc88", "dash": [9, 2]}
    for widget in (ComparisonTable(), choice):
        assert widget.engine_styles["lab"] == style
    charts = Charts()
    charts.reset(["lab"])
    assert charts.curves[0].items() >= style.items()
    assert "Engine lab" in {finding.subject for finding in doctor().findings}


@pytest.mark.usefixtures("_lab")
def test_it_trains_and_is_drawn_and_compared(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", "{}")
    comparison = wb.compare("digits-mlp", digits, engines=["fake", "lab"], steps=40)
    comparison.wait(PATIENCE_S)
    table = ComparisonTable()
    table.show(wb.load_comparison(comparison.id))
    assert [row["engine"] for row in table.rows] == ["fake", "lab"]
    assert [row["cells"]["status"] for row in table.rows] == ["completed", "completed"]
    loss = comparison.plot().axes[0]
    assert "#aa5500" in {line.get_color() for line in loss.lines}


@pytest.mark.usefixtures("_lab")
def test_it_is_profiled_by_what_its_entry_says(digits: Dataset, tmp_path: Path) -> None:
    """In this process, which the process of `wb.profile` does too."""
    with pytest.raises(ConfigError, match="ortmodule, lab can be profiled"):
        profile("digits-mlp", digits, "fake")
    wb.load_model("digits-mlp").save(tmp_path / "model")
    digits.save(tmp_path / "data")
    config = make_config({"engine": "lab", "batch_size": 8})
    built: list[str] = []
    request = ProfilingRequest(tmp_path / "model", tmp_path / "data", config, 3, tmp_path)
    answer = measured(request, built.append)
    (time,) = answer.times
    assert (time.op, time.provider, time.calls) == ("Gemm", "lab", 1)
    assert 1e6 <= time.us < 1e6 + 3
    # What the profile has closed takes no further steps.
    assert built.count("building the fake") == 2

"""The statistics of an engine, as lines and notes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from workbench.run_folder.statistics import ByPyTorch, Statistics
from workbench.widgets.run_statistics import RunStatistics


def test_statistics_are_lines_and_pytorch_fallbacks_optional_notes() -> None:
    ran = ByPyTorch(what="the module", why="it was asked to", calls=1, fallback=True)
    run = SimpleNamespace(statistics=Statistics(engine="ortmodule", by_pytorch=(ran,)))
    shown: Any = {"pytorch": SimpleNamespace(statistics=None), "ortmodule": run}
    view = RunStatistics()
    view.show(shown, notes=True)
    [engine] = view.engines
    assert engine["engine"] == "ortmodule"
    assert engine["notes"] == ["PyTorch ran the module once: it was asked to."]
    assert engine["lines"][0] == {"name": "graphs", "value": "none", "level": 0}
    assert engine["lines"][1]["name"] == "PyTorch fallback"
    view.show(shown, notes=False)
    assert view.engines[0]["notes"] == []
    view.clear()
    assert view.engines == []

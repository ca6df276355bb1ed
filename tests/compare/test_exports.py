"""How often the engines of a comparison export the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.compare import compare
from workbench.data import Dataset
from workbench.run_folder.events import EventReader
from workbench.runs import Run

PATIENCE_S = 240


def exports(run: Run) -> int:
    """How often the worker and its children exported, as events and statistics say."""
    events = EventReader(run.folder.events_path).poll()
    texts = [event["text"] for event in events if event["event"] == "phase"]
    of_artifacts = sum(text.startswith("exporting the model for") for text in texts)
    found = run.statistics
    graphs = () if of_artifacts or found is None else found.graphs
    # The statistics of cached artifacts hold the seconds of the export that made them.
    return of_artifacts + sum(
        graph.export_s is not None and graph.cache_s is None for graph in graphs
    )


@pytest.mark.sweep
def test_each_engine_exports_for_itself_and_exports_are_kept(
    digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On device for training, whose graph is that for inference too; ORTModule what is called."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    engines = ["pytorch", "ondevice", "ortmodule"]
    counts = []
    for _ in range(2):
        comparison = compare("digits-mlp", digits, engines, steps=12).wait(PATIENCE_S)
        assert comparison.status == "completed", comparison.errors
        counts.append({name: exports(run) for name, run in comparison.runs.items()})
    assert counts == [
        {"pytorch": 0, "ondevice": 1, "ortmodule": 1},
        {"pytorch": 0, "ondevice": 0, "ortmodule": 0},
    ]

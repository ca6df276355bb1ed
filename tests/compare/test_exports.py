"""How often the engines of a comparison export the model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import workbench as wb
from workbench.compare import compare
from workbench.data import Dataset
from workbench.load import load_dataset
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


def own_module() -> wb.Model:
    """A module of the user's that draws, normalizes, and returns what it calls by name."""

    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layers = (nn.Flatten(), nn.Linear(64, 32), nn.BatchNorm1d(32), nn.Dropout(0.3))
            self.layers = nn.Sequential(*layers)
            self.last = nn.Linear(32, 10)

        def forward(self, x: Tensor) -> dict[str, Tensor]:
            hidden = self.layers(x)
            return {"logits": self.last(hidden), "hidden": hidden}

    torch.manual_seed(3)
    return wb.load_model(Named(), example_inputs=torch.zeros(2, 1, 8, 8))


@pytest.mark.parametrize(
    "name",
    [
        "own module",
        *(
            pytest.param(name, marks=pytest.mark.sweep)
            for name in ("digits-mlp", "digits-cnn", "text-gpt", "hf-classifier")
        ),
    ],
)
def test_a_comparison_exports_once_and_the_next_one_never(
    name: str, digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph that one engine exports is what the other finds; on device its graph is that for
    inference too."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    model = own_module() if name == "own module" else wb.load_model(name)
    data = digits if model.dataset is None else load_dataset(model.dataset)
    loss = "cross_entropy" if model.dataset is None else model.defaults["loss"]
    counts, losses = [], []
    # The engines export in either order.
    for engines in (["ondevice", "ortmodule"], ["ortmodule", "ondevice"]):
        comparison = compare(model, data, engines, steps=3, loss=loss, evaluate=False)
        comparison.wait(PATIENCE_S)
        assert comparison.status == "completed", comparison.errors
        counts.append(sum(map(exports, comparison.runs.values())))
        losses.append({name: run.follow().poll().loss for name, run in comparison.runs.items()})
    assert counts == [1, 0]
    assert {name: list(each) for name, each in losses[0].items()} == {
        name: list(each) for name, each in losses[1].items()
    }

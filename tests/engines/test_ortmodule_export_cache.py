"""ORTModule's graphs from the export cache: the same training, and none of changed code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import workbench as wb
from tests.export_cache.changed_code import ChangingCode
from workbench.data import Dataset
from workbench.engines.torch_base.export_cache import IRRELEVANT
from workbench.run_folder.checkpoint import read_weights
from workbench.run_folder.events import EventReader
from workbench.runs import Run
from workbench.settings.config import TrainingConfig


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the entries of this test's cache, which is empty."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "exports"


def normalized_and_dropped() -> wb.Model:
    """A network with random numbers and with buffers, of the user's own."""
    torch.manual_seed(3)
    layers = (nn.Flatten(), nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3))
    return wb.load_model(
        nn.Sequential(*layers, nn.Linear(32, 10)), example_inputs=torch.zeros(2, 1, 8, 8)
    )


def trained(model: wb.Model, data: Dataset, **settings: object) -> Run:
    run = wb.train(
        model,
        data,
        engine="ortmodule",
        loss="cross_entropy",
        evaluate=False,
        ortmodule={"deterministic": True, "threads": 1},
        **{"steps": 12, **settings},
    )
    run.wait()
    assert run.status == "completed", run.error
    return run


def from_cache(run: Run) -> bool:
    """Whether the graph came from there, as the record and the statistics of the run say."""
    (graph,) = run.statistics.graphs if run.statistics is not None else ()
    events = EventReader(run.folder.events_path).poll()
    told = any(
        "using the exported graph of the cache" in str(event.get("text")) for event in events
    )
    assert told == (graph.cache_s is not None)
    assert told == (graph.export_s is None)
    assert told == ("from the cache in" in str(run.statistics))
    assert "by an earlier run" not in str(run.statistics)
    return told


def results(run: Run) -> tuple[list[float], dict[str, np.ndarray]]:
    assert run.checkpoint is not None
    return list(run.follow().poll().loss), read_weights(run.checkpoint)


@pytest.mark.sweep  # tests/ort/ortmodule/capture/test_cached_exports.py
def test_a_hit_trains_as_the_export_did(digits: Dataset) -> None:
    """Random numbers and running statistics included; also of a run that is resumed, and with
    another learning rate and batch size, on which no graph depends."""
    model = normalized_and_dropped()
    first, second = trained(model, digits), trained(model, digits)
    assert [from_cache(first), from_cache(second)] == [False, True]
    (losses, weights), (again, same) = results(first), results(second)
    assert losses == again
    for name, value in weights.items():
        np.testing.assert_array_equal(value, same[name])
    assert from_cache(trained(model, digits, learning_rate=0.1, batch_size=16, seed=5, steps=3))
    resumed = wb.resume(second, steps=15)
    resumed.wait()
    assert resumed.status == "completed", resumed.error
    assert from_cache(resumed)
    # Frozen parameters and adapters are another graph.
    assert not from_cache(trained(model, digits, requires_grad=("5.*",), steps=3))
    assert not from_cache(trained(model, digits, lora={"rank": 2}, steps=3))


@pytest.mark.sweep  # tests/artifacts does so on device
def test_changed_user_code_is_exported_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module that the class imports, and a file that its forward pass reads."""
    code = ChangingCode(tmp_path / "code", "ortmodule", monkeypatch)
    code.check_that_changes_are_exported_again()
    # A factory may read anything.
    assert [code.loss("factory")[1] for _ in range(2)] == [False, False]


def test_settings_that_no_graph_depends_on_exist() -> None:
    assert set(TrainingConfig.model_fields) >= IRRELEVANT
    counted = set(TrainingConfig.model_fields) - IRRELEVANT
    assert counted == {"loss", "requires_grad", "lora"}

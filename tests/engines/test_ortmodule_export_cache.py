"""ORTModule's graphs from the export cache: the same training, and none of changed code."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import workbench as wb
from tests.fork_server import forked
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
    told = any("export: from the cache, " in str(event.get("text")) for event in events)
    assert told == (graph.cache_s is not None)
    assert told == (graph.export_s is None)
    assert told == ("from the cache in" in str(run.statistics))
    assert "by an earlier run" not in str(run.statistics)
    return told


def results(run: Run) -> tuple[list[float], dict[str, np.ndarray]]:
    assert run.checkpoint is not None
    return list(run.follow().poll().loss), read_weights(run.checkpoint)


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
    assert from_cache(trained(model, digits, learning_rate=0.1, batch_size=16, steps=3))
    resumed = wb.resume(second, steps=15)
    resumed.wait()
    assert resumed.status == "completed", resumed.error
    assert from_cache(resumed)
    # Frozen parameters and adapters are another graph.
    assert not from_cache(trained(model, digits, requires_grad=("5.*",), steps=3))
    assert not from_cache(trained(model, digits, lora={"rank": 2}, steps=3))


MODULE = """
import json
from pathlib import Path
import torch
from torch import nn
from factor import factor

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten, self.linear = nn.Flatten(), nn.Linear(64, 10)

    def forward(self, x):
        more = json.loads(Path({settings!r}).read_text())["more"]
        return self.linear(self.flatten(x)) * (factor + more)

def build():
    return Scaled()
"""

SCRIPT = """
import json, sys
import torch
sys.path.append(sys.argv[1])
import workbench as wb
from scaled import Scaled
torch.manual_seed(0)
of = wb.load_model(Scaled(), example_inputs=torch.zeros(2, 1, 8, 8))
if sys.argv[2] == "factory":
    of = wb.load_model("scaled:build", example_inputs=torch.zeros(2, 1, 8, 8))
run = wb.train(of, "digits", loss="cross_entropy", engine="ortmodule", steps=2, evaluate=False)
run.wait()
print(json.dumps([run.error, list(run.follow().poll().loss), run.statistics.graphs[0].cache_s]))
"""


def test_changed_code_of_the_users_is_exported_anew(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module that the class imports, and a file that its forward pass reads."""
    # Files of one size and time would be one to Python's own cache of compiled modules.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    code = tmp_path / "code"
    code.mkdir()
    settings = code / "settings.json"

    def write(path: Path, text: str) -> None:
        path.write_text(text)
        os.utime(path, (1e9, 1e9))

    def loss(kind: str = "module") -> tuple[float, bool]:
        """The first loss, and whether the export came from the cache."""
        done = subprocess.run(
            forked("-c", SCRIPT, str(code), kind), capture_output=True, text=True, check=True
        )
        error, losses, cache_s = json.loads(done.stdout.splitlines()[-1])
        assert error is None
        return losses[0], cache_s is not None

    write(settings, '{"more": 0}')
    write(code / "factor.py", "factor = 1.0")
    write(code / "scaled.py", MODULE.format(settings=str(settings)))
    first, hit = loss()
    assert not hit
    assert loss() == (first, True)
    write(code / "factor.py", "factor = 3.0")
    tripled, hit = loss()
    assert not hit
    assert abs(tripled - first) > 1e-3
    write(settings, '{"more": -2}')
    back, hit = loss()
    assert not hit
    assert abs(back - first) < 1e-5
    # A factory may read anything.
    assert [loss("factory")[1] for _ in range(2)] == [False, False]


def test_settings_that_no_graph_depends_on_exist() -> None:
    assert set(TrainingConfig.model_fields) >= IRRELEVANT
    counted = set(TrainingConfig.model_fields) - IRRELEVANT
    assert counted == {"engine", "loss", "requires_grad", "lora", "seed"}

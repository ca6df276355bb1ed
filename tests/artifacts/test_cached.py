"""Artifacts from the cache: the same numbers as of an export, and never those of another model."""

from __future__ import annotations

import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.export_cache.changed_code import ChangingCode
from tests.fork_server import forked
from workbench.artifacts.cached import fill
from workbench.artifacts.request import ArtifactsRequest
from workbench.data import Dataset
from workbench.errors import ModelError
from workbench.losses.loss_list import as_losses
from workbench.ort.ortmodule.capture.graph_record import GRAPH
from workbench.run_folder.checkpoint import read_weights
from workbench.run_folder.events import EventReader
from workbench.runs import Run


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the entries of this test's cache, which is empty."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "exports"


def entries(cache: Path, file: str = "manifest.json") -> list[Path]:
    """Those of artifacts, or those that have another file."""
    return [path for path in cache.iterdir() if len(path.name) == 64 and (path / file).exists()]


def trained(model: wb.Model, data: Dataset) -> Run:
    run = wb.train(model, data, engine="ondevice", loss="cross_entropy", steps=20)
    run.wait()
    assert run.status == "completed", run.error
    return run


def phases(run: Run) -> list[str]:
    events = EventReader(run.folder.events_path).poll()
    return [event["text"] for event in events if event["event"] == "phase"]


def from_cache(run: Run) -> bool:
    """Whether the export came from there, as the record and the statistics of the run say."""
    assert run.statistics is not None
    told = any(phase.startswith("using the exported graph of the cache") for phase in phases(run))
    assert told == (run.statistics.graphs[0].cache_s is not None)
    assert told == ("from the cache" in str(run.statistics))
    assert told != ("exporting the model for training" in phases(run))
    return told


def results(run: Run) -> tuple[list[float], dict[str, np.ndarray]]:
    assert run.checkpoint is not None
    return list(run.follow().poll().loss), read_weights(run.checkpoint)


def normalized_and_dropped() -> wb.Model:
    """A network with random numbers and with buffers."""
    import torch
    from torch import nn

    torch.manual_seed(3)
    module = nn.Sequential(
        nn.Flatten(),
        nn.Linear(64, 32),
        nn.BatchNorm1d(32),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(32, 10),
    )
    return wb.load_model(module, example_inputs=torch.zeros(2, 1, 8, 8))


class Bomb:
    """Runs code when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.mark, "it ran")


def plant(folder: Path, mark: Path) -> None:
    """Code under every name that something might load."""
    evil = f"from pathlib import Path\nPath({str(mark)!r}).write_text('it ran')\n"
    for name in ("sitecustomize.py", "numpy.py", "torch.py", "__init__.py", "conftest.py"):
        (folder / name).write_text(evil)
    for name in ("module.pkl", "code.pkl", "entry.pkl"):
        (folder / name).write_bytes(pickle.dumps(Bomb(mark)))
    (folder / "site.pth").write_text(f"import os; {evil.splitlines()[1]}")


def test_a_hit_trains_as_the_export_did_and_runs_nothing_else(
    cache: Path, digits: Dataset, tmp_path: Path
) -> None:
    """Dropout and running statistics included; what somebody damages is exported again."""
    model = normalized_and_dropped()
    first = trained(model, digits)
    assert not from_cache(first)
    (entry,) = entries(cache)
    mark = tmp_path / "mark"
    for folder in (cache.parent, cache, entry):
        plant(folder, mark)
    second = trained(model, digits)
    assert from_cache(second)
    (losses, weights), (again, same) = results(first), results(second)
    assert losses == again
    assert weights.keys() == same.keys()
    for name, value in weights.items():
        np.testing.assert_array_equal(value, same[name])
    assert not {path.name for path in second.folder.artifacts_path.iterdir()} & {"module.pkl"}
    with (entry / "training_model.onnx").open("r+b") as file:
        file.write(b"\xff\xff")
    # The artifacts are generated again, of the forward graph in the cache.
    third = trained(model, digits)
    assert from_cache(third)
    assert "building the gradient graph" in phases(third)
    assert results(third)[0] == losses
    corrupt = "is corrupt, so the model is exported again"
    assert corrupt in third.folder.log_path.read_text()
    for entry, file in zip(
        (*entries(cache), *entries(cache, GRAPH)), ("eval_model.onnx", GRAPH), strict=True
    ):
        plant(entry, mark)
        with (entry / file).open("r+b") as damaged:
            damaged.write(b"\xff\xff")
    fourth = trained(model, digits)
    assert not from_cache(fourth)
    assert results(fourth)[0] == losses
    assert fourth.folder.log_path.read_text().count(corrupt) == 1
    assert not mark.exists()


@pytest.mark.sweep  # tests/export_cache/test_code_used.py
def test_changed_user_code_is_exported_again(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module that the class imports, and a file that its forward pass reads."""
    code = ChangingCode(tmp_path / "code", "ondevice", monkeypatch)
    code.check_that_changes_are_exported_again()
    assert len(entries(cache)) == 1


GENERATE = """
import sys
import workbench as wb
said = []
wb.generate_artifacts(wb.load_model("digits-mlp"), directory=sys.argv[1], report=said.append)
print("exported" if "exporting the model for training" in said else "taken")
"""


def test_of_two_processes_at_once_one_exports(cache: Path, tmp_path: Path) -> None:
    both = [
        subprocess.Popen(
            forked("-c", GENERATE, str(tmp_path / name)),
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    said = sorted(process.communicate()[0].strip() for process in both)
    assert said == ["exported", "taken"]
    assert len(entries(cache)) == 1
    contents = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "ab"
    ]
    assert contents[0] == contents[1]


@pytest.mark.fault
def test_a_model_without_its_record_is_refused_as_without_a_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "made").mkdir()
    said: list[str] = []
    request = ArtifactsRequest(
        model=tmp_path / "model",
        directory=tmp_path / "made",
        losses=as_losses("mse"),
        optimizer="sgd",
        weight_decay=0.0,
        requires_grad=None,
        targets=None,
    )
    messages = []
    for place in (str(cache.parent), "off"):
        monkeypatch.setenv("WORKBENCH_CACHE", place)
        with pytest.raises(ModelError, match="is not a saved model") as caught:
            fill(request, said.append, os.environ)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert any(sentence.endswith("model.json cannot be read.") for sentence in said)


def test_a_factory_is_not_cached_and_a_notice_says_so(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made_here.py").write_text(
        "import torch\ndef build():\n return torch.nn.Linear(3, 1), torch.ones(2, 3)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    said: list[str] = []
    wb.generate_artifacts(
        wb.load_model("made_here:build"),
        directory=tmp_path / "made",
        loss="mse",
        report=said.append,
    )
    assert any("a factory may read anything" in sentence for sentence in said)
    assert entries(cache) == []


def test_a_run_takes_the_artifacts_that_were_generated_before(
    cache: Path, digits: Dataset, tmp_path: Path
) -> None:
    """As those of the step Artifacts, which another process generated."""
    model = normalized_and_dropped()
    wb.generate_artifacts(model, loss="cross_entropy", data=digits, directory=tmp_path / "made")
    assert len(entries(cache)) == 1
    assert from_cache(trained(model, digits))

"""Commands that list, show and export recorded runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.cli.command import Invoke
from tests.runs.recorded import recorded
from workbench.data import Dataset


def test_no_runs_is_no_error(workbench: Invoke) -> None:
    assert workbench("runs", "--json").json == []
    assert "No runs yet" in workbench("runs").stdout


def test_runs_are_listed_and_shown(workbench: Invoke) -> None:
    trained = workbench("train", "digits-mlp", "--engine=fake", "--steps=5", "--json").json
    [row] = workbench("runs", "--json").json
    assert row["id"] == trained["id"]
    assert (row["model"], row["engine"], row["status"]) == ("digits-mlp", "fake", "completed")
    assert trained["id"] in workbench("runs").stdout
    assert workbench("runs", trained["id"], "--json").json == trained


def test_a_trained_model_is_exported(workbench: Invoke, tmp_path: Path) -> None:
    import onnx
    from onnx import numpy_helper

    trained = workbench("train", "digits-mlp", "--engine=pytorch", "--steps=5", "--json").json
    outcome = workbench("export", trained["id"], "out/mine.onnx", "--json")
    assert outcome.status == 0, outcome.stderr
    path = Path(outcome.json["path"])
    assert path == tmp_path / "out" / "mine.onnx" or path == Path("out/mine.onnx")
    assert outcome.json["bytes"] == (tmp_path / "out" / "mine.onnx").stat().st_size

    graph = onnx.load(tmp_path / "out" / "mine.onnx").graph
    written = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    weights = wb.load_run(trained["id"]).weights()
    shared = weights.keys() & written.keys()
    assert shared >= set(wb.load_model("digits-mlp").parameters)
    largest = max(float(np.abs(weights[name] - written[name]).max()) for name in shared)
    assert largest == 0, f"largest difference {largest}"


def test_a_run_is_labelled_deleted_and_brought_back(workbench: Invoke, digits: Dataset) -> None:
    run_id = recorded(digits).id
    labelled = workbench("runs", run_id, "--tag=a, b", "--name=first", "--notes=n", "--json").json
    assert (labelled["name"], labelled["tags"], labelled["notes"]) == ("first", ["a", "b"], "n")
    assert [row["id"] for row in workbench("runs", "--tag=b", "--json").json] == [run_id]
    assert "No run has the tag 'c'" in workbench("runs", "--tag=c").stdout
    assert f"`workbench undelete {run_id}`" in workbench("delete", run_id).stdout
    assert [row["id"] for row in workbench("runs", "--deleted", "--json").json] == [run_id]
    assert workbench("undelete", run_id, "--json").json["id"] == run_id
    workbench("delete", run_id)
    assert workbench("runs", "--purge", "--json").json == {"removed": [run_id]}
    refused = workbench("undelete", run_id)
    assert (refused.status, "The trash is empty." in refused.stderr) == (1, True)


@pytest.mark.fault
@pytest.mark.parametrize(
    "arguments",
    [
        ["--tag=old", "--purge"],
        pytest.param(["{run}", "--purge"], marks=pytest.mark.sweep),
        ["{run}", "--active"],
        pytest.param(["--active", "--deleted"], marks=pytest.mark.sweep),
        ["--deleted", "--purge"],
    ],
)
def test_options_that_mean_nothing_together_are_refused_and_nothing_is_removed(
    workbench: Invoke, digits: Dataset, arguments: list[str]
) -> None:
    deleted, kept = recorded(digits).id, recorded(digits).id
    workbench("delete", deleted)
    refused = workbench("runs", *(each.format(run=kept) for each in arguments))
    assert refused.status != 0
    assert "leave" in refused.stderr or "exclude each other" in refused.stderr
    assert [row["id"] for row in workbench("runs", "--deleted", "--json").json] == [deleted]

"""The project that `wb.federated.app` writes; tests/flower/test_deployment.py deploys it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")

import workbench as wb
from workbench.data import Dataset
from workbench.errors import ConfigError, DataError, RunFolderError
from workbench.federated import app

WAIT_S = 120


def test_the_written_project_trains_a_round_in_process(digits: Dataset, tmp_path: Path) -> None:
    """As `flwr run` would, with five of six devices, three of which send what cannot be used.

    A device refuses what does not fit, too, and no row of its data leaves it: not in a reply, and
    not in the text of an error.
    """
    project = app(tmp_path / "project", "digits-mlp", clients=6, rounds=1, round_timeout_s=0.1)
    readme = (project / "README.md").read_text()
    assert all(
        each in readme for each in ("FLWR_TELEMETRY_ENABLED=0", "FLWR_DISABLE_UPDATE_CHECK=1")
    )
    settings = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    assert settings["config"]["server-folder"] == str(project / "server")
    rows_of_server = np.load(project / "server" / "data" / "train-input-0.npy")
    assert digits.test is not None
    assert np.array_equal(rows_of_server, digits.test.inputs[0]), "no training rows"
    done = subprocess.run(
        [sys.executable, "-m", "tests.flower.in_process_round", str(project)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert "allow_pickle" in told["harmful"] or "Object arrays" in told["harmful"]
    assert "does not fit the model" in told["shape"]
    assert "of.another.version" in told["version"]
    assert told["rows_sent"] == 0
    with_a_row, with_a_label = told["failing"]
    assert with_a_row.startswith("it failed with ValueError when it trained.")
    assert "cannot use" not in with_a_row
    assert with_a_label.startswith("it failed with ")
    assert "424242" not in with_a_label
    assert "cannot use" in done.stderr, "the device's own log has it"
    assert not told["torch"]
    run = wb.load_run(project / "server")
    federation: Any = run.federation
    assert run.status == "completed"
    assert not federation.simulated
    assert federation.rounds["clients"].tolist() == [2]
    clients = federation.clients.set_index("client")
    assert clients.loc[[0, 1], "accuracy"].notna().all()
    left_out = clients["left_out"].to_dict()
    assert left_out.keys() == set(range(5))
    assert left_out[0] == left_out[1] == ""
    assert "not finite" in left_out[2]
    assert "of shape" in left_out[3]
    assert left_out[4] == "it sent 'added.weight', which was not requested."
    assert len(run.evaluations) == 1
    with pytest.raises(RunFolderError, match="is not empty; give a new folder"):
        app(project, "digits-mlp")


@pytest.mark.fault
def test_models_that_cannot_be_deployed_are_refused(digits: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unavailable= is for simulated clients"):
        app(tmp_path / "a", "digits-mlp", unavailable=0.5)
    with pytest.raises(DataError, match="no test split, which the server needs"):
        app(tmp_path / "a", "digits-mlp", Dataset("rows", digits.train, None, digits.classes))
    assert not (tmp_path / "a").exists()

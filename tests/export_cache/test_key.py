"""Whatever an export depends on is in its key."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fork_server import forked
from workbench.export_cache import key as key_module
from workbench.export_cache.key import export_key, process_key

SETTINGS = {"loss": "mse", "weight_decay": 0.01}
ENVIRONMENT = {"OMP_NUM_THREADS": "2", "PATH": "/bin"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.json").write_text('{"seed": 0}')
    (folder / "weights.safetensors").write_bytes(bytes(100))
    return folder


def key_of(
    folder: Path,
    settings: Mapping[str, object] = SETTINGS,
    environment: Mapping[str, str] = ENVIRONMENT,
) -> str:
    return export_key(process_key(folder, environment), settings)


def test_equal_models_in_different_folders_have_the_same_key(model: Path, tmp_path: Path) -> None:
    key = key_of(model)
    assert len(key) == 64
    shutil.copytree(model, tmp_path / "copy")
    assert key_of(tmp_path / "copy") == key


def test_changed_files_and_settings_have_another(model: Path) -> None:
    keys = {key_of(model)}
    keys.add(key_of(model, settings={**SETTINGS, "weight_decay": 0.02}))
    keys.add(key_of(model, settings={**SETTINGS, "requires_grad": ["a"]}))
    (model / "model.json").write_text('{"seed": 1}')
    keys.add(key_of(model))
    (model / "weights.safetensors").write_bytes(bytes(99) + b"\1")
    keys.add(key_of(model))
    (model / "more").write_bytes(b"")
    keys.add(key_of(model))
    (model / "more").rename(model / "other")
    keys.add(key_of(model))
    assert len(keys) == 7


def test_files_of_installed_packages_do_not_count(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it is imported, setuptools puts a folder with packages of its own on the path."""
    vendored = Path(sysconfig.get_path("purelib"), "setuptools", "_vendor")
    assert list(vendored.glob("*.dist-info"))
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(vendored)])
    before = key_of(model)
    monkeypatch.setattr(sys, "path", [*sys.path, str(vendored)])
    assert key_of(model) == before


def test_versions_and_the_workbench_itself_count(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key() -> str:
        return key_of(model)

    before = key()
    site = tmp_path / "site"
    (site / "torch-2.13.0.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    keys = {before, key()}
    (site / "torch-2.13.0.dist-info").rename(site / "torch-2.13.1.dist-info")
    keys.add(key())
    ours = tmp_path / "workbench"
    shutil.copytree(key_module.own_packages()[0] / "export", ours)
    monkeypatch.setattr(key_module, "own_packages", lambda: (ours,))
    keys.add(key())
    with (ours / "export.py").open("a") as file:
        file.write("# another\n")
    keys.add(key())
    monkeypatch.setattr(sys, "version", sys.version.replace("3.", "3.9", 1))
    keys.add(key())
    for machine in ({"processor": "another", "cores": 2}, {"processor": "another", "cores": 4}):
        monkeypatch.setattr(key_module, "describe_machine", lambda machine=machine: machine)
        keys.add(key())
    assert len(keys) == 8


def test_relevant_environment_variables_count(model: Path) -> None:
    before = key_of(model)
    for name in ("OMP_NUM_THREADS", "TORCH_LOGS", "SCALE", "WORKBENCH_CODE_PATH"):
        assert key_of(model, environment={**ENVIRONMENT, name: "1"}) != before
    for name in ("PWD", "SHLVL", "WORKBENCH_HOME", "PYTEST_CURRENT_TEST", "TERM"):
        assert key_of(model, environment={**ENVIRONMENT, name: "1"}) == before


@pytest.mark.fault
def test_a_link_among_the_files_is_refused(model: Path) -> None:
    (model / "linked").symlink_to(model / "model.json")
    with pytest.raises(OSError, match="linked"):
        key_of(model)


NOTEBOOK = """
import os, sys
from pathlib import Path
import torch
from torch import nn
import workbench as wb
from workbench.export_cache.key import process_key

scale = 2.0

def apply(x):
    return x * scale

def layer(power):
    class Layer(nn.Module):
        def forward(self, x):
            return apply(x) ** power
    return Layer()

torch.manual_seed(0)
linear = nn.Linear(3, 2)

def key(name, module):
    made = wb.load_model(nn.Sequential(linear, module), example_inputs=torch.ones(2, 3))
    folder = Path(sys.argv[1]) / name
    made.save(folder)
    print(name, process_key(folder, os.environ))

square = layer(2)
key("first", square)
key("same", square)
key("closure", layer(3))
scale = 3.0
key("global", square)
scale = 2.0
key("back", square)
def apply(x):
    return x - scale
key("function", square)
with torch.no_grad():
    linear.weight[0, 0] += 1
key("weights", square)
"""


def test_classes_of_a_notebook_count_with_their_dependencies(tmp_path: Path) -> None:
    """Their code, and that of functions, with the values of closures and globals."""
    done = subprocess.run(
        forked("-c", NOTEBOOK, str(tmp_path)),
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    keys = dict(line.split() for line in done.stdout.splitlines())
    assert keys["first"] == keys["same"]
    others = [keys[name] for name in ("first", "closure", "global", "function", "weights")]
    assert len(set(others)) == 5
    assert len(keys) == 7

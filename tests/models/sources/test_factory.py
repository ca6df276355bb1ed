"""Models that a function of the caller's own builds, found from the working directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.errors import ModelError
from workbench.load import load_model
from workbench.user_code.user_code import UserCode

FACTORY = """
import torch
from neighbour import width

def build():
    return torch.nn.Linear(4, width), torch.zeros(2, 4)

def bare():
    return torch.nn.Linear(4, width)

def failing():
    raise ValueError("no such thing")

def wrong():
    return "a module"

number = 3
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a module that imports its neighbour."""
    folder = tmp_path / "project"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "nets.py").write_text(FACTORY)
    (folder / "neighbour.py").write_text("width = 3")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield folder
    for name in ("shop", "shop.nets", "neighbour"):
        sys.modules.pop(name, None)


def test_a_factory_in_the_working_directory(project: Path, tmp_path: Path) -> None:
    model = load_model("shop.nets:build", seed=7)
    assert model.name == "build"
    assert model.parameters == {"weight": (3, 4), "bias": (3,)}
    assert np.array_equal(model.weights()["weight"], load_model("shop.nets:build", seed=7)
                          .module().state_dict()["weight"].numpy())  # fmt: skip
    other = load_model("shop.nets:bare", seed=8, example_inputs=np.zeros((2, 4)))
    assert not np.array_equal(model.weights()["weight"], other.weights()["weight"])
    model.save(tmp_path / "saved")
    code = f"""
import sys
from pathlib import Path
from workbench.models import load_saved
model = load_saved(Path({str(tmp_path / "saved")!r}))
assert model.outputs[0].shape == ("batch", 3), model.outputs
assert "torch" not in sys.modules
print(model.weights()["weight"].tobytes().hex())
"""
    command = [sys.executable, "-c", code]
    options: Any = {"cwd": Path(__file__).parents[3], "capture_output": True, "text": True}
    done = subprocess.run(command, check=True, env=model.code.environment(), **options)
    assert done.stdout.strip() == model.weights()["weight"].tobytes().hex()
    # Who was not started to run the factory runs it not, wherever its file is found.
    for code_of_others in (UserCode(), UserCode(("0" * 64,), model.code.search_path)):
        environment = {**code_of_others.environment(), "PYTHONPATH": f"{project}:{options['cwd']}"}
        done = subprocess.run(command, check=False, env=environment, **options)
        assert "built by the factory 'shop.nets:build'. A saved model is untrusted" in done.stderr


@pytest.mark.fault
@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("shop.nets:bare", "needs example_inputs="),
        ("shop.nets:biuld", r"no 'biuld'.*'build'"),
        ("shop.nest:build", "Cannot import 'shop.nest'"),
        ("shop.nets:failing", "raised ValueError: no such thing"),
        ("torch.nn:Linear", "'out_features'. A factory is called without arguments."),
        ("shop.nets:wrong", "returned str; it must return an nn.Module"),
        ("shop.nets:number", "is int, not a function"),
    ],
)
def test_factories_that_cannot_be_used(project: Path, factory: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_model(factory)

"""A model saved for a worker, and files that are never read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from tests.fork_server import forked
from workbench.errors import ModelError
from workbench.load import load_model
from workbench.models import load_saved
from workbench.user_code.user_code import SHA256_VARIABLE, UserCode

CODE = """
import sys
from pathlib import Path
from workbench.models import load_saved
model = load_saved(Path(sys.argv[1]))
assert model.outputs[0].shape == ("batch", 3), model.outputs
assert "torch" not in sys.modules, "torch was loaded before it had to be"
print(model.weights()["layer.weight"].tobytes().hex())
"""


class Scaled(nn.Module):
    """Defined in a file that a worker cannot import by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) * 2


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, str, str]:
    """Folder of a saved module, the SHA-256 of its pickle, and its weights in hexadecimal."""
    model = load_model(Scaled(), example_inputs=np.zeros((2, 4)))
    assert model.code == UserCode()
    model.save(tmp_path / "model")
    (sha256,) = model.code.sha256
    weights = model.weights()["layer.weight"].tobytes().hex()
    return tmp_path / "model", sha256, weights


def worker(folder: Path, sha256: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != SHA256_VARIABLE}
    if sha256 is not None:
        environment[SHA256_VARIABLE] = sha256
    return subprocess.run(
        [sys.executable, "-c", CODE, str(folder)],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_module_crosses_with_its_weights(saved) -> None:
    folder, sha256, weights = saved
    done = worker(folder, sha256)
    assert done.stdout.strip() == weights, done.stderr


def test_a_module_of_a_notebook_crosses(tmp_path: Path) -> None:
    code = """
import sys, torch
from pathlib import Path
from workbench.load import load_model
class Mine(torch.nn.Linear):
    pass
model = load_model(Mine(4, 3), example_inputs=torch.zeros(2, 4))
model.save(Path(sys.argv[1]))
print(*model.code.sha256)
"""
    folder = str(tmp_path / "model")
    done = subprocess.run(forked("-c", code, folder), check=True, capture_output=True, text=True)
    code = f"from pathlib import Path; from workbench.models import load_saved\n\
print(type(load_saved(Path({folder!r})).module()).__name__)"
    environment = {**os.environ, SHA256_VARIABLE: done.stdout.strip()}
    other = subprocess.run(
        forked("-c", code), check=True, capture_output=True, text=True, env=environment
    )
    assert other.stdout.strip() == "Mine"


def test_a_pickle_of_another_process_is_not_read(saved, tmp_path: Path) -> None:
    folder, sha256, _ = saved
    mark = tmp_path / "mark"
    evil = f"cos\nmkdir\n(S'{mark}'\ntR.".encode()
    for content, given in ((None, None), (None, "0" * 64), (evil, None), (evil, sha256)):
        if content is not None:
            (folder / "module.pkl").write_bytes(content)
        done = worker(folder, given)
        assert done.returncode == 1
        assert "ModelError" in done.stderr
        assert "Only the worker of its own run reads it" in done.stderr
    assert not mark.exists()


def test_the_specs_of_a_saved_module_need_no_pickle(saved) -> None:
    folder, _, _ = saved
    (folder / "module.pkl").unlink()
    model = load_saved(folder)
    assert model.inputs[0].shape == ("batch", 4)
    assert model.example_inputs()[0].shape == (2, 4)


class Handle:
    """Can be shared by copies within a process, but not sent to another."""

    def __deepcopy__(self, memo: object) -> Handle:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a handle stays here")


@pytest.mark.fault
def test_a_module_that_cannot_cross(tmp_path: Path) -> None:
    module = nn.Linear(4, 3)
    module.handle = Handle()
    model = load_model(module, example_inputs=np.zeros((2, 4)))
    with pytest.raises(ModelError, match=r"cannot be pickled.*a handle stays here.*factory"):
        model.save(tmp_path / "model")
    assert list(tmp_path.glob("*model*")) == []
    module.rows = (row for row in ())
    with pytest.raises(ModelError, match=r"cannot be copied.*generator.*factory"):
        load_model(module, example_inputs=np.zeros((2, 4)))


def test_saving_leaves_nothing_half_written(tmp_path: Path, monkeypatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    model = load_model("digits-mlp")
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(tmp_path / "runs" / "model")
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.fault
def test_a_folder_in_use_is_not_overwritten(tmp_path: Path) -> None:
    load_model("digits-mlp").save(tmp_path / "model")
    with pytest.raises(ModelError, match="not empty"):
        load_model("digits-cnn").save(tmp_path / "model")
    assert load_saved(tmp_path / "model").name == "digits-mlp"


@pytest.mark.fault
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "newer workbench"),
        ({"format": None}, "no format version"),
        ({"kind": "keras"}, "not a readable saved model"),
        ({"source": {}}, "not a readable saved model"),
        ({"source": {"sample": "gone", "seed": 0}}, "no sample 'gone'"),
    ],
)
def test_a_corrupt_record_is_refused(tmp_path: Path, change, message: str) -> None:
    load_model("digits-mlp").save(tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ModelError, match=message):
        load_saved(tmp_path / "model")


@pytest.mark.fault
def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a saved model"):
        load_saved(tmp_path)
    (tmp_path / "model.json").write_text("{")
    with pytest.raises(ModelError, match="not valid JSON"):
        load_saved(tmp_path)


def test_every_kind_of_model_keeps_what_it_says_of_itself(tmp_path: Path) -> None:
    model = load_model("text-gpt", name="writer", seed=2)
    model.save(tmp_path / "model")
    loaded = load_saved(tmp_path / "model")
    for attribute in ("name", "card", "defaults", "dataset", "inputs", "outputs", "parameters"):
        assert getattr(loaded, attribute) == getattr(model, attribute), attribute


def corrupt_header(text: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        header = text.encode() + b"\n"
        start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
        (folder / "example-0.npy").write_bytes(start + header)

    return damage


def piped(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return damage


def seeded(seed: object) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        record = json.loads((folder / "model.json").read_text())
        record["source"]["seed"] = seed
        (folder / "model.json").write_text(json.dumps(record))

    return damage


@pytest.mark.fault
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            corrupt_header("{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000,)}"),
            "not a readable saved model",
        ),
        (corrupt_header("(" * 60), "not a readable saved model"),
        (seeded(True), "not a readable saved model"),
        (seeded(2**64), "not a readable saved model"),
        (piped("example-0.npy"), "is a pipe"),
        (piped("weights.safetensors"), "is a pipe"),
    ],
)
def test_a_corrupt_saved_model_is_refused(
    saved: tuple[Path, str, str], damage: Callable[[Path], None], message: str
) -> None:
    damage(saved[0])
    with pytest.raises(ModelError, match=message):
        load_saved(saved[0])


@pytest.mark.fault
def test_a_pickle_that_is_a_pipe_is_refused(saved: tuple[Path, str, str]) -> None:
    piped("module.pkl")(saved[0])
    with pytest.raises(ModelError, match="is a pipe"):
        _ = load_saved(saved[0]).buildable

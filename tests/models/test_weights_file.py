"""Weights from files, and files that are refused because reading them would run code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from torch import nn

from tests.onnx_io.onnx_models import mlp
from workbench.errors import ModelError
from workbench.load import load_model
from workbench.models import load_saved

OTHER = load_model("digits-cnn", seed=9)


def equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


@pytest.mark.parametrize("wrapper", [None, "state_dict", "model"])
def test_a_state_dict(tmp_path: Path, wrapper: str | None) -> None:
    state = OTHER.module().state_dict()
    torch.save(state if wrapper is None else {wrapper: state, "epoch": 3}, tmp_path / "w.pt")
    model = load_model("digits-cnn", weights=tmp_path / "w.pt")
    assert equal(model.weights(), OTHER.weights())
    assert torch.equal(model.module().state_dict()["output.bias"], state["output.bias"])
    model.save(tmp_path / "saved")
    assert equal(load_saved(tmp_path / "saved").weights(), OTHER.weights())


def test_safetensors_without_buffers(tmp_path: Path) -> None:
    parameters = {name: OTHER.weights()[name] for name in OTHER.parameters}
    save_file(parameters, tmp_path / "w.safetensors")
    model = load_model("digits-cnn", weights=str(tmp_path / "w.safetensors"))
    expected = {**load_model("digits-cnn").weights(), **parameters}
    assert equal(model.weights(), expected)
    model.module()


def test_weights_of_half_precision_become_float32(tmp_path: Path) -> None:
    module = nn.Linear(4, 3)
    torch.save(module.bfloat16().state_dict(), tmp_path / "w.pth")
    model = load_model(nn.Linear(4, 3), example_inputs=np.zeros((2, 4)), weights=tmp_path / "w.pth")
    expected = module.weight.detach().float().numpy()
    assert np.array_equal(model.weights()["weight"], expected)


def test_weights_of_an_onnx_model(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(mlp().SerializeToString())
    weights = {n: v + 1 for n, v in load_model(tmp_path / "m.onnx").weights().items()}
    save_file(weights, tmp_path / "w.safetensors")
    model = load_model(tmp_path / "m.onnx", weights=tmp_path / "w.safetensors")
    assert equal(model.weights(), weights)
    exported = load_model(model.export(tmp_path / "e.onnx"))
    assert equal(exported.weights(), weights)


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.fault
def test_pickled_objects_are_refused_and_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    torch.save({"weight": Trap(mark)}, tmp_path / "trap.pt")
    torch.save(nn.Linear(4, 3), tmp_path / "module.pt")
    for name in ("trap.pt", "module.pt"):
        for arguments in ({"source": str(tmp_path / name)}, {"source": tmp_path / name}):
            with pytest.raises(
                ModelError, match=r"could execute arbitrary code.*rejected.*state_dict"
            ):
                load_model(**arguments)
        with pytest.raises(ModelError, match="could execute arbitrary code"):
            load_model("digits-mlp", weights=tmp_path / name)
    assert not mark.exists()


@pytest.mark.fault
def test_weights_alone_are_no_model(tmp_path: Path) -> None:
    torch.save(nn.Linear(4, 3).state_dict(), tmp_path / "w.pt")
    save_file({"weight": np.zeros(3)}, tmp_path / "w.safetensors")
    for name in ("w.pt", "w.safetensors"):
        with pytest.raises(ModelError, match=r"no model.*load_model\(module, example_inputs="):
            load_model(str(tmp_path / name))
    with pytest.raises(ModelError, match=r"gone\.pt does not exist"):
        load_model("gone.pt")


@pytest.mark.fault
def test_a_torchscript_archive_is_refused(tmp_path: Path) -> None:
    program = torch.export.export(nn.Linear(4, 3), (torch.zeros(2, 4),))
    torch.export.save(program, tmp_path / "program.pt")
    with pytest.raises(ModelError, match=r"program\.pt"):
        load_model(tmp_path / "program.pt")


@pytest.mark.fault
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("w.pt", b"nothing of the kind", "contains Python objects|not a readable"),
        ("w.pt", b"", "not a readable"),
        ("w.pt", b"PK\x03\x04 cut short", "not a readable"),
        ("w.safetensors", b"nothing of the kind", "not a readable"),
        ("w.csv", b"1,2", "not a weights file"),
    ],
)
def test_files_that_hold_no_weights(tmp_path: Path, name: str, content: bytes, message) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=message):
        load_model("digits-mlp", weights=tmp_path / name)


@pytest.mark.fault
def test_no_state_dict_in_the_file(tmp_path: Path) -> None:
    torch.save([torch.zeros(3)], tmp_path / "w.pt")
    with pytest.raises(ModelError, match="contains list instead of a state dict"):
        load_model("digits-mlp", weights=tmp_path / "w.pt")


@pytest.mark.fault
def test_weights_of_another_model(tmp_path: Path) -> None:
    own = load_model("digits-mlp").weights()
    for weights, message in (
        ({n: own[n] for n in list(own)[1:]}, "lacks 1 parameters .* 'hidden1.weight'"),
        ({f"module.{n}": v for n, v in own.items()}, r"it contains module\.hidden1\.bias"),
        ({**own, "more": np.zeros(2)}, r"'more' .* unknown name"),
        ({**own, "output.bias": np.zeros(11)}, r"\[11\] does not fit .* \[10\]"),
    ):
        save_file(dict(weights), tmp_path / "w.safetensors")
        with pytest.raises(ModelError, match=message):
            load_model("digits-mlp", weights=tmp_path / "w.safetensors")


def test_bfloat16_weights_are_read_as_float32(tmp_path: Path) -> None:
    """As language models are often shared; numpy has no such dtype."""
    from safetensors.torch import save_file as save_tensors

    values = torch.arange(6.0).reshape(2, 3).bfloat16()
    save_tensors({"weight": values, "count": torch.tensor(3)}, tmp_path / "w.safetensors")
    read = (
        "from workbench.models.weights_file import read_weights_file as read; from pathlib import "
        f"Path; found = read(Path({str(tmp_path / 'w.safetensors')!r})); "
        "assert found['weight'].dtype == 'float32' and found['count'] == 3; "
        "assert found['weight'].tolist() == [[0, 1, 2], [3, 4, 5]]"
    )
    # With and without a package that teaches numpy the dtype.
    for loaded in ("", "import ml_dtypes; "):
        subprocess.run([sys.executable, "-c", loaded + read], check=True)

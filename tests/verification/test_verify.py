"""`wb.verify`: engines beside PyTorch, and beside finite differences of a bare graph."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import workbench as wb
from workbench.errors import ConfigError, DataError
from workbench.export.export import export_onnx
from workbench.models import Model
from workbench.verification import Verification


class Sampler(nn.Module):
    """Everything that is drawn at random in training, batch normalization, and a frozen layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.norm = nn.BatchNorm1d(8)
        self.dropout = nn.Dropout(0.5)
        self.mean, self.spread = nn.Linear(8, 4), nn.Linear(8, 4)
        self.last = nn.Linear(4, 3)
        self.unused = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.dropout(torch.tanh(self.norm(self.first(x))))
        mean, spread = self.mean(hidden), self.spread(hidden)
        result: torch.Tensor = self.last(mean + torch.randn_like(mean) * torch.exp(spread / 2))
        return result


def rows(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.fixture(scope="module")
def model() -> Model:
    torch.manual_seed(0)
    return wb.load_model(Sampler(), example_inputs=rows(2, 6))


@pytest.fixture(scope="module")
def verified(model: Model) -> Verification:
    return wb.verify(model, threads=1)


def test_both_engines_agree_with_pytorch_though_nothing_is_certain(verified: Verification) -> None:
    assert verified.ok, str(verified)
    assert verified.max_relative_error <= 1e-5
    assert [verdict.engine for verdict in verified.engines] == ["ondevice", "ortmodule"]
    assert {verdict.failure for verdict in verified.engines} == {""}
    assert all(verdict.loss_error <= 1e-6 for verdict in verified.engines)


def test_there_is_a_row_a_parameter_and_engine(model: Model, verified: Verification) -> None:
    frame = verified.frame
    reached = [name for name in model.parameters if not name.startswith("unused")]
    assert list(frame[frame.engine == "ondevice"].parameter) == reached
    assert len(frame) == 2 * len(reached)
    assert list(frame.columns) == [
        *("parameter", "engine", "shape", "relative_error", "worst_entry"),
        *("expected", "actual", "compared", "ok"),
    ]
    assert frame.ok.all()
    assert dict(zip(frame.parameter, frame["shape"], strict=True))["last.weight"] == (3, 4)


def test_as_text_as_json_and_as_html(verified: Verification) -> None:
    document = json.loads(json.dumps(verified.to_dict()))
    assert document["ok"] is True
    assert document["max_relative_error"] == verified.max_relative_error
    assert len(document["gradients"]) == len(verified.gradients)
    assert str(verified).startswith("Sampler agrees with PyTorch: largest relative error ")
    assert repr(verified) == str(verified)
    assert "<table" in verified._repr_html_()


def test_only_trained_parameters_are_compared(model: Model) -> None:
    found = wb.verify(
        model, engines=["ondevice"], requires_grad=["last.*"], threads=1, batch_size=3
    )
    assert found.ok, str(found)
    assert [row.parameter for row in found.gradients] == ["last.weight", "last.bias"]
    assert found.batch_size == 3


@pytest.mark.fault
def test_a_wrong_gradient_and_a_crash_are_reported(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fake is a model of its own: none of its gradients is PyTorch's."""
    wrong = wb.verify(model, engines=["fake"], threads=1)
    assert not wrong.ok
    assert wrong.wrong("fake")[0].relative_error >= 1
    assert "WRONG" in str(wrong)
    assert ", expected " in str(wrong)
    monkeypatch.setenv("WORKBENCH_FAKE", '{"signal_in_gradients": "SIGFPE"}')
    crashed = wb.verify(model, engines=["fake"], threads=1)
    assert not crashed.ok
    assert "SIGFPE" in crashed.engines[0].failure
    assert math.isnan(crashed.max_relative_error)
    assert crashed.to_dict()["max_relative_error"] is None
    assert crashed.frame.empty


@pytest.mark.fault
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"engines": ["ondevise"]}, "Did you mean 'ondevice'"),
        ({"engines": "ondevice"}, "must be a list"),
        ({"engines": []}, "must be a list"),
        ({"tolerance": 0.0}, "above 0"),
        ({"loss": "crossentropy"}, "cross_entropy"),
        ({"requires_grad": ["nothing.*"]}, "nothing"),
    ],
)
def test_wrong_settings_are_refused(model: Model, settings: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        wb.verify(model, **settings)  # type: ignore[arg-type]


@pytest.mark.sweep
def test_a_loss_of_ones_own_and_several_of_them() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.shared, self.a, self.b = nn.Linear(4, 6), nn.Linear(6, 3), nn.Linear(6, 2)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.tanh(self.shared(x))
            return self.a(hidden), self.b(hidden)

    def squared(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return ((output - target) ** 2).sum() / 2

    torch.manual_seed(0)
    two = wb.load_model(Two(), example_inputs=rows(2, 4))
    several = wb.verify(two, loss=["cross_entropy", wb.Loss("mse", factor=0.3)], threads=1)
    assert several.ok, str(several)
    assert len(several.of("ondevice")) == 6
    data = wb.load_dataset(rows(20, 4), rows(20, 3))
    own = wb.verify(wb.load_model(nn.Linear(4, 3), example_inputs=rows(2, 4)), data, loss=squared)
    assert own.ok, str(own)


@pytest.mark.fault
def test_a_dataset_that_does_not_fit_is_refused(model: Model) -> None:
    data = wb.load_dataset(rows(20, 5), np.zeros(20, np.int64))
    with pytest.raises(DataError, match="Input"):
        wb.verify(model, data)
    few = wb.load_dataset(rows(20, 6), np.zeros(20, np.int64))
    with pytest.raises(DataError, match="batch_size=64"):
        wb.verify(model, few, batch_size=64)


def exported(folder: Path, module: nn.Module, *shape: int) -> Path:
    path = folder / "alone.onnx"
    graph = export_onnx(
        module.train(), (rows(2, *shape),), input_names=["x"], output_names=["y"], training=True
    )
    onnx.save(graph, path)
    return path


def test_a_bare_graph_is_held_to_finite_differences(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Dropout(0.5), nn.Linear(6, 3))
    found = wb.verify(wb.load_model(exported(tmp_path, module, 5)), threads=1)
    assert found.ok, str(found)
    assert found.reference == "finite differences in float64"
    assert [verdict.engine for verdict in found.engines] == ["ondevice"]
    assert {row.compared for row in found.gradients} == {3, 6, 8}
    assert found.max_relative_error <= 1e-5


def test_kernels_that_float64_lacks_and_batch_statistics(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Tanh(), nn.Flatten())
    path = exported(tmp_path, module.append(nn.Linear(48, 2)), 1, 6, 6)
    found = wb.verify(wb.load_model(path), engines=["ondevice", "fake"], loss="mse", threads=1)
    assert found.reference == "finite differences in float64, in part by onnx.reference"
    assert found.agrees("ondevice"), str(found)
    assert not found.agrees("fake")
    assert len(found.of("fake")) == len(found.of("ondevice")) == 6
    assert all(row.actual == 0 for row in found.of("fake")), "it has no such parameters"


def test_an_engine_that_needs_a_module_is_refused(tmp_path: Path) -> None:
    path = exported(tmp_path, nn.Linear(4, 2), 4)
    found = wb.verify(wb.load_model(path), engines=["ortmodule"], threads=1)
    assert not found.ok
    assert "was loaded from an ONNX file" in found.engines[0].failure
    assert math.isnan(found.reference_loss)


def test_the_caller_loads_nothing_native(tmp_path: Path) -> None:
    path = exported(tmp_path, nn.Linear(4, 2), 4)
    program = (
        "import sys, workbench as wb\n"
        f"found = wb.verify({str(path)!r}, threads=1)\n"
        "print(found.ok, [name for name in ('torch', 'onnxruntime') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.strip() == "True []", done.stdout + done.stderr


def test_one_output_a_row_is_verified_by_a_loss_that_has_a_gradient() -> None:
    """Cross-entropy of a single class is zero whatever the weights."""
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    model = wb.load_model(module, example_inputs=rows(2, 3))
    found = wb.verify(model, engines=["ondevice"], threads=1)
    assert found.ok, str(found)
    assert all(row.expected != 0 for row in found.gradients), str(found)

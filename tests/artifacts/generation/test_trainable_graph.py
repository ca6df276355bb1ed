"""Notices of a model's artifacts: the exporter of its graph, rewrites, untrained parameters."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import workbench as wb
from tests.onnx_io.onnx_models import mlp
from workbench.artifacts.generation.trainable_graph import trainable_graph
from workbench.errors import UntrainableError
from workbench.load import load_model


class Half(nn.Module):
    """In bfloat16; of its two outputs the loss sees the first, which a layer does not reach."""

    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(4, 3)
        self.other = nn.Linear(4, 2)
        self.idle = nn.Parameter(torch.ones(2))
        self.to(torch.bfloat16)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.used(x), self.other(x)


def test_notices_reach_the_caller_and_the_manifest(tmp_path: Path) -> None:
    said: list[str] = []
    model = load_model(Half(), example_inputs=np.zeros((2, 4), np.float32))
    made = wb.generate_artifacts(
        model, loss="cross_entropy", directory=tmp_path / "artifacts", report=said.append
    )
    expected = [
        "5 weights are bfloat16; trained and exported in float32.",
        "the loss does not depend on 3 parameters, not trained: idle, other.weight, other.bias",
    ]
    assert made.manifest["notices"] == expected
    assert [text for text in said if text in expected] == expected
    assert made.manifest["exporter"] == "torch.export"
    assert made.trainable == ("used.weight", "used.bias")


def test_an_onnx_model_is_trained_without_another_export(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(mlp(opset=9, ir_version=4).SerializeToString())
    made = wb.generate_artifacts(
        load_model(path), loss="cross_entropy", directory=tmp_path / "artifacts"
    )
    assert made.manifest["exporter"] is None
    assert made.manifest["notices"] == []
    assert made.trainable == ("w1", "b1", "w2", "b2")
    written = onnx.load(made.inference_model)
    assert [value.name for value in written.graph.initializer] == ["w1", "b1", "w2", "b2"]


class Choosy(nn.Module):
    """Has no gradient as torch.export sees it, and one as it is traced."""

    def __init__(self, det_always: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.det_always = det_always

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.layer(x)
        if self.det_always or torch.compiler.is_exporting():
            return torch.det(y[:, :, None] * y[:, None, :]) + 0 * y.sum(1)
        return y.sum(1)


@pytest.mark.sweep
def test_the_other_exporter_is_used_where_its_graph_trains() -> None:
    said: list[str] = []
    model = load_model(Choosy(det_always=False), example_inputs=np.zeros((2, 4), np.float32))
    made = trainable_graph(model, None, said.append)
    assert "the graph cannot be trained; exporting the model with TorchScript" in said
    assert "Det" not in {node.op_type for node in made.trainable.graph.node}
    assert made.parameters.trainable == ["layer.weight", "layer.bias"]


class GrowingGelu(nn.Module):
    """Its cubic factor is GELU's at first, and grows with every step; the root is not trained."""

    factor: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.root = nn.Parameter(torch.tensor(math.sqrt(2 / math.pi)), requires_grad=False)
        self.register_buffer("factor", torch.tensor(0.044715))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        factor = self.factor.clone()
        result = 0.5 * y * (1 + torch.tanh(self.root * (y + factor * y**3)))
        if self.training:
            self.factor.mul_(3.0)
        return result


@pytest.mark.sweep
def test_no_rewrite_takes_a_buffer_for_a_constant() -> None:
    model = load_model(GrowingGelu(), example_inputs=np.zeros((2, 4), np.float32))
    made = trainable_graph(model, None, [].append)
    assert {"factor", "root"} <= {value.name for value in made.trainable.graph.initializer}
    assert "FastGelu" not in {node.op_type for node in made.trainable.graph.node}
    assert [update.buffer for update in made.rewrites.state_updates] == ["factor"]


@pytest.mark.fault
def test_where_no_graph_trains_the_first_error_is_raised() -> None:
    model = load_model(Choosy(det_always=True), example_inputs=np.zeros((2, 4), np.float32))
    with pytest.raises(UntrainableError, match=r"Det .*no gradient"):
        trainable_graph(model, None, [].append)

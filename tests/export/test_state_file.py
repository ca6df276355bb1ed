"""Graphs that point to parameters in a file, and models written from there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch import nn

from workbench.export.export import export_onnx
from workbench.export.state_file import StateFile
from workbench.onnx_io.large_file import write_onnx
from workbench.onnx_io.tensor_data import is_outside, tensor_array


@pytest.fixture(scope="module")
def module() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 300), nn.ReLU(), nn.Linear(300, 5))


def export(module: nn.Module, state_file: StateFile | None) -> onnx.ModelProto:
    x = np.zeros((2, 64), np.float32)
    names = {"input_names": ["x"], "output_names": ["y"]}
    return export_onnx(module, (x,), **names, training=False, state_file=state_file)


def test_large_parameters_are_in_the_file_and_small_ones_in_the_graph(
    module: nn.Module, tmp_path: Path
) -> None:
    graph = export(module, StateFile(tmp_path / "parameters.bin")).graph
    outside = {tensor.name for tensor in graph.initializer if is_outside(tensor)}
    assert outside == {"0.weight", "2.weight"}
    state = module.state_dict()
    for tensor in graph.initializer:
        assert np.array_equal(tensor_array(tensor), state[tensor.name].numpy())


def test_two_graphs_share_one_copy(module: nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "parameters.bin"
    state_file = StateFile(path)
    first = export(module, state_file)
    size = path.stat().st_size
    assert export(module, state_file) == first
    assert path.stat().st_size == size == 4 * (64 * 300 + 300 * 5)


def test_a_model_written_from_the_state_file_is_the_same(module: nn.Module, tmp_path: Path) -> None:
    pointing = export(module, StateFile(tmp_path / "parameters.bin"))
    before = pointing.SerializeToString()
    written = onnx.load(write_onnx(pointing, tmp_path / "model.onnx"))
    assert pointing.SerializeToString() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "parameters.bin"]
    onnx.checker.check_model(written, full_check=True)
    expected = {tensor.name: tensor for tensor in export(module, None).graph.initializer}
    assert {tensor.name for tensor in written.graph.initializer} == set(expected)
    for tensor in written.graph.initializer:
        assert not is_outside(tensor)
        assert np.array_equal(
            numpy_helper.to_array(tensor), numpy_helper.to_array(expected[tensor.name])
        )
    assert [node.op_type for node in written.graph.node] == ["Gemm", "Relu", "Gemm"]

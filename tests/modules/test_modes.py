"""Layers in evaluation mode within a module that trains, and what the export says of them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
from torch import nn
from torch.nn import functional

from workbench import load_model
from workbench.errors import ModelError
from workbench.export.export import export_onnx
from workbench.modules.modes import modes_kept, put_in_training
from workbench.onnx_io.graph_metadata import PADDING_INDEX, RUNNING, STATISTICS


def norms() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4), nn.BatchNorm1d(4))


def export(module: nn.Module, x: np.ndarray, **settings: tuple[str, ...]) -> onnx.ModelProto:
    return export_onnx(
        module, (x,), input_names=["x"], output_names=["y"], training=True, **settings
    )


def marks(model: onnx.ModelProto, op: str, key: str) -> list[str | None]:
    """The mark of each node of this op; None where it has none."""
    return [
        {entry.key: entry.value for entry in node.metadata_props}.get(key)
        for node in model.graph.node
        if node.op_type == op
    ]


def test_a_layer_that_was_put_in_evaluation_mode_stays_so() -> None:
    module = norms()
    module[1].eval()
    put_in_training(module)
    assert [layer.training for layer in module] == [True, False, True, True]
    module.eval()
    put_in_training(module)
    assert all(layer.training for layer in module)


def test_modes_are_given_back() -> None:
    module = norms()
    module[1].eval()
    with modes_kept(module):
        module.eval()
    assert [layer.training for layer in module] == [True, False, True, True]


@pytest.mark.parametrize("exporter", ["torch.export", "TorchScript"])
def test_a_batch_normalization_in_evaluation_mode_is_marked(exporter: str) -> None:
    module = norms()
    module[1].eval()
    model = export(module, np.ones((2, 4), np.float32), exporters=(exporter,))
    assert marks(model, "BatchNormalization", STATISTICS) == [RUNNING, None]
    assert [layer.training for layer in module] == [True, False, True, True]


def test_so_is_the_function_that_does_not_train() -> None:
    class Frozen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))
            self.register_buffer("variance", torch.ones(4))
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            mean, variance = self.get_buffer("mean"), self.get_buffer("variance")
            return functional.batch_norm(x, mean, variance, self.weight, training=False)

    model = export(Frozen(), np.ones((2, 4), np.float32))
    assert marks(model, "BatchNormalization", STATISTICS) == [RUNNING]


def test_a_loaded_model_keeps_the_modes_of_its_layers() -> None:
    module = norms()
    module[1].eval()
    model = load_model(module, example_inputs=np.ones((2, 4), np.float32))
    assert [layer.training for layer in module] == [True, False, True, True]
    assert [layer.training for layer in model.module()] == [True, False, True, True]


@pytest.mark.fault
def test_an_embeddings_padding_row_is_marked() -> None:
    module = nn.Sequential(nn.Embedding(7, 3, padding_idx=-1), nn.Linear(3, 2))
    ids = np.zeros((2, 5), np.int64)
    assert marks(export(module, ids), "Gather", PADDING_INDEX) == ["6"]
    assert marks(export(nn.Embedding(7, 3), ids), "Gather", PADDING_INDEX) == [None]
    with pytest.raises(ModelError, match="tracing forgets padding_idx=6"):
        export(module, ids, exporters=("TorchScript",))

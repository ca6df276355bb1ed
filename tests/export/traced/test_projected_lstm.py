"""The LSTM with projection as it is traced for export, against torch's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from workbench.export.export import export_onnx
from workbench.export.traced.projected_lstm import lstm


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"bias": False},
        {"batch_first": True},
        {"num_layers": 2, "bidirectional": True},
        {"num_layers": 2, "bidirectional": True, "batch_first": True, "bias": False},
    ],
)
def test_results_are_torchs(settings: dict[str, Any]) -> None:
    torch.manual_seed(0)
    layer = nn.LSTM(3, 5, proj_size=2, **settings)
    places = layer.num_layers * (2 if layer.bidirectional else 1)
    batch = 4 if not layer.batch_first else 6
    states = torch.randn(places, batch, 2), torch.randn(places, batch, 5)
    arguments = (
        torch.randn(6, 4, 3),
        states,
        layer._flat_weights,
        layer.bias,
        layer.num_layers,
        0.0,
        True,
        layer.bidirectional,
        layer.batch_first,
    )
    torch.testing.assert_close(lstm(*arguments), torch.lstm(*arguments))


def test_the_projection_is_exported() -> None:
    model = export_onnx(
        nn.Sequential(nn.LSTM(3, 5, proj_size=2, batch_first=True)),
        (np.ones((2, 4, 3), np.float32),),
        input_names=["x"],
        output_names=["y"],
        training=True,
    )
    assert "0.weight_hr_l0" in {value.name for value in model.graph.initializer}
    assert "LSTM" not in {node.op_type for node in model.graph.node}

"""Recurrent layers of any length as they are exported; that they train is in tests/coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from workbench import check, load_model
from workbench.errors import UntrainableError
from workbench.export.export import ONE_AT_A_TIME, export_onnx
from workbench.export.traced.recurrent_layers import RECURRENT_LAYERS


class Averaged(nn.Module):
    """The mean over the steps, so that no output has the length."""

    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0].mean(1)


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(3, 5, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        lengths = torch.full((len(x),), 2)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return self.layer(packed)[1][0]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize(
    "settings",
    [{}, {"bias": False, "batch_first": True}, {"num_layers": 2, "bidirectional": True}],
)
def test_results_are_torchs(kind: type[nn.RNNBase], settings: dict[str, Any]) -> None:
    torch.manual_seed(0)
    layer = kind(3, 5, **settings)
    batch = 6 if layer.batch_first else 4
    state = torch.randn(layer.num_layers * (2 if layer.bidirectional else 1), batch, 5)
    arguments = (
        torch.randn(6, 4, 3),
        (state, state * 0.5) if kind is nn.LSTM else state,
        layer._flat_weights,
        layer.bias,
        layer.num_layers,
        0.0,
        True,
        layer.bidirectional,
        layer.batch_first,
    )
    function = {nn.LSTM: torch.lstm, nn.GRU: torch.gru, nn.RNN: torch.rnn_tanh}[kind]
    # As in an export: a scan writes metadata that torch keeps for the process, not for a thread.
    with ONE_AT_A_TIME:
        found = RECURRENT_LAYERS[function](*arguments)
    torch.testing.assert_close(found, function(*arguments))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_the_length_stays_open(kind: type[nn.RNNBase]) -> None:
    model = export_onnx(
        Averaged(kind(3, 5, num_layers=2, bidirectional=True, batch_first=True)),
        (np.ones((2, 4, 3), np.float32),),
        input_names=["x"],
        output_names=["y"],
        training=True,
        dynamic_axes={"x": {1: "time"}},
    )
    sizes = [dim.dim_param for dim in model.graph.input[0].type.tensor_type.shape.dim]
    assert sizes[:2] == ["batch", "time"]
    recurrent = [node for node in model.graph.node if node.op_type == kind.__name__]
    assert len(recurrent) == 4, "one for each layer and direction"


def test_an_open_length_is_checked() -> None:
    model = load_model(
        Averaged(nn.LSTM(3, 5, bidirectional=True, batch_first=True)),
        example_inputs=np.ones((2, 4, 3), np.float32),
        dynamic_axes={"x": {1: "time"}},
    )
    assert check(model).ok


@pytest.mark.fault
def test_a_packed_sequence_is_refused() -> None:
    with pytest.raises(UntrainableError, match="without pack_padded_sequence"):
        export_onnx(
            Packed(),
            (np.ones((2, 4, 3), np.float32),),
            input_names=["x"],
            output_names=["y"],
            training=True,
        )

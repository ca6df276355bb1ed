"""A layer of a recurrent network in ONNX, whose order of gates is not PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from workbench.export.translations.nodes import Value, op

_GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,), "rnn_relu": (0,)}
"""Index of PyTorch's gate at each place in ONNX."""


def recurrent_translations() -> dict[Any, Callable[..., Any]]:
    """The part of `translations` that is about recurrent layers."""
    from workbench.export.traced.recurrent_layers import RECURRENCE

    return {RECURRENCE: _recurrence}


def _recurrence(
    sequence: Value,
    states: Sequence[Value],
    weights: Sequence[Value],
    kind: str,
    backwards: bool,
) -> tuple[Value, Value, Value]:
    of_input, of_state, *biases = (_with_gates_of_onnx(weight, kind) for weight in weights)
    bias = op.Unsqueeze(op.Concat(*biases, axis=0), [0]) if biases else None
    given = [sequence, op.Unsqueeze(of_input, [0]), op.Unsqueeze(of_state, [0]), bias, None]
    settings: dict[str, Any] = {
        "hidden_size": int(states[0].shape[-1]),
        "direction": "reverse" if backwards else "forward",
    }
    if kind == "lstm":
        steps, last, cell = op.LSTM(*given, *states, **settings)
        return op.Squeeze(steps, [1]), last, cell
    if kind == "gru":
        steps, last = op.GRU(*given, *states, linear_before_reset=1, **settings)
    else:
        activation = "Relu" if kind == "rnn_relu" else "Tanh"
        steps, last = op.RNN(*given, *states, activations=[activation], **settings)
    return op.Squeeze(steps, [1]), last, op.Constant(value=ir.tensor(np.zeros(0, np.float32)))


def _with_gates_of_onnx(weight: Value, kind: str) -> Value:
    order = _GATES[kind]
    if len(order) == 1:
        return weight
    gates = op.Split(weight, num_outputs=len(order), axis=0)
    return op.Concat(*(gates[place] for place in order), axis=0)

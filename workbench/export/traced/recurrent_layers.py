"""Recurrent layers as one operator for each layer and direction, for any length.

torch.export decomposes the layers of `nn.LSTM`, `nn.GRU` and `nn.RNN` step by step to infer the
shapes of their results, which fixes the length of the sequence. The operators here declare those
shapes, and `recurrent_translations` writes each as one node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from workbench.errors import UntrainableError
from workbench.export.traced import projected_lstm

_OPERATORS: dict[str, Callable[..., Any]] = {
    "lstm": torch.lstm,
    "gru": torch.gru,
    "rnn_tanh": torch.rnn_tanh,
    "rnn_relu": torch.rnn_relu,
}


@torch.library.custom_op("workbench::recurrence", mutates_args=())
def recurrence(
    sequence: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Tensor],
    kind: str,
    backwards: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """One layer in one direction.

    Args:
        sequence: (length, batch, features).
        states: hidden and, of an LSTM, cell state before the first step, (1, batch, hidden).
        weights: of the input and of the state, then two biases or none, as torch orders their
            gates.
        kind: "lstm", "gru", "rnn_tanh" or "rnn_relu".
        backwards: begin at the end.

    Returns:
        The states of all steps, (length, batch, hidden), the last and, of an LSTM, the last cell
        state, (1, batch, hidden); else an empty tensor.
    """
    given = sequence.flip(0) if backwards else sequence
    start = list(states) if kind == "lstm" else states[0]
    settings = (len(weights) > 2, 1, 0.0, False, False, False)
    steps, *last = _OPERATORS[kind](given, start, list(weights), *settings)
    steps = steps.flip(0) if backwards else steps.clone()
    return steps, last[0].clone(), last[1].clone() if kind == "lstm" else steps.new_empty(0)


@recurrence.register_fake
def _shapes(
    sequence: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Tensor],  # noqa: ARG001
    kind: str,
    backwards: bool,  # noqa: ARG001
) -> tuple[Tensor, Tensor, Tensor]:
    steps = sequence.new_empty(sequence.shape[0], sequence.shape[1], states[0].shape[-1])
    cell = torch.empty_like(states[1]) if kind == "lstm" else sequence.new_empty(0)
    return steps, torch.empty_like(states[0]), cell


RECURRENCE = torch.ops.workbench.recurrence.default
"""The operator that represents a call of `recurrence` in a trace."""


def _layers(kind: str, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """Result of `torch.lstm` or of another recurrent function for the same arguments."""
    if isinstance(args[2], Tensor) or (kind == "lstm" and isinstance(args[1], Tensor)):
        raise UntrainableError(
            "A packed sequence has as many rows as its lengths say together, which no graph of "
            "fixed operators knows. Give the recurrent layer the padded batch itself, without "
            "pack_padded_sequence, and mask the padding in what it returns."
        )
    if kind == "lstm" and args[1][0].shape[-1] != args[1][1].shape[-1]:
        return projected_lstm.lstm(*args, **kwargs)
    if torch._C._is_tracing():
        made: tuple[Tensor, ...] = _OPERATORS[kind](*args, **kwargs)
        return made
    return _stacked(kind, *args, **kwargs)


def _stacked(
    kind: str,
    input: Tensor,  # noqa: A002
    hx: Any,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    sequence = input.transpose(0, 1) if batch_first else input
    starts = list(hx) if kind == "lstm" else [hx]
    directions = 2 if bidirectional else 1
    count = 4 if has_biases else 2
    ends: list[list[Tensor]] = [[] for _ in starts]
    for layer in range(num_layers):
        results = []
        for backwards in range(directions):
            place = layer * directions + backwards
            weights = list(params[place * count : (place + 1) * count])
            start = [state[place : place + 1] for state in starts]
            steps, *last = recurrence(sequence, start, weights, kind, bool(backwards))
            results.append(steps)
            for end, state in zip(ends, last, strict=False):
                end.append(state)
        sequence = torch.cat(results, -1) if bidirectional else results[0]
        if layer < num_layers - 1:
            sequence = functional.dropout(sequence, dropout, train)
    steps = sequence.transpose(0, 1) if batch_first else sequence
    return steps, *(torch.cat(end) for end in ends)


RECURRENT_LAYERS: dict[Callable[..., Any], Callable[..., Any]] = {
    operator: partial(_layers, kind) for kind, operator in _OPERATORS.items()
}
"""Function of torch -> its replacement in the trace."""

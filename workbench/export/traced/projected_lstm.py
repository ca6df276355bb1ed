"""The LSTM with a projection of its states, step by step, since ONNX's has none.

The exporters write it as one node without the projection. Here every step is traced separately,
for which the length must be fixed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional


def lstm(
    input: Tensor,  # noqa: A002
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Result of `torch.lstm` for the same arguments, of which states are projected."""
    sequence = input.transpose(0, 1) if batch_first else input
    directions = 2 if bidirectional else 1
    count = 5 if has_biases else 3
    last: list[tuple[Tensor, Tensor]] = []
    for layer in range(num_layers):
        results = []
        for backwards in range(directions):
            place = layer * directions + backwards
            weights = params[place * count : (place + 1) * count]
            start = hx[0][place], hx[1][place]
            states, end = _direction(sequence, start, weights, bool(backwards))
            results.append(states)
            last.append(end)
        sequence = torch.cat(results, -1)
        if layer < num_layers - 1:
            sequence = functional.dropout(sequence, dropout, train)
    hidden, cell = (torch.stack(values) for values in zip(*last, strict=True))
    return sequence.transpose(0, 1) if batch_first else sequence, hidden, cell


def _direction(
    sequence: Tensor, start: tuple[Tensor, Tensor], weights: Sequence[Tensor], backwards: bool
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """States of every step, (length, batch, projection), and the last hidden and cell state."""
    of_input, of_state, *biases, projection = weights
    bias = biases[0] + biases[1] if biases else None
    given = functional.linear(sequence, of_input, bias)
    hidden, cell = start
    steps = range(len(sequence))
    states = []
    for step in reversed(steps) if backwards else steps:
        gates = given[step] + functional.linear(hidden, of_state)
        let_in, kept, new, let_out = gates.chunk(4, -1)
        cell = kept.sigmoid() * cell + let_in.sigmoid() * new.tanh()
        hidden = functional.linear(let_out.sigmoid() * cell.tanh(), projection)
        states.append(hidden)
    return torch.stack(states[::-1] if backwards else states), (hidden, cell)

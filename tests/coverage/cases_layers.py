"""Linear, bilinear, embedding and recurrent layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.coverage.case import (
    Case,
    Sample,
    integers,
    normal,
    of,
    through,
    together,
    uniform,
    whole,
)
from tests.coverage.cases_convolutions import layer

SEQUENCE = (normal((5, 6)), normal((2, 6)))
WORDS = (integers(10, (7,)), integers(10, (3, 4)))
BAG = integers(10, (5,))


class Recurrent(nn.Module):
    """Every output of a recurrent layer, and its last state."""

    def __init__(self, kind: type[nn.RNNBase], **settings: Any) -> None:
        super().__init__()
        self.layer = kind(6, 5, **{"batch_first": True, **settings})

    def forward(self, x: Tensor) -> Tensor:
        batch_first = self.layer.batch_first
        output, state = self.layer(x if batch_first else x.transpose(0, 1))
        output = output if batch_first else output.transpose(0, 1)
        hidden = state[0] if isinstance(state, tuple) else state
        return torch.cat([output.flatten(1), hidden.transpose(0, 1).flatten(1)], dim=1)


class OutputOnly(Recurrent):
    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


class FromState(nn.Module):
    """A recurrent layer that begins from a state that is computed."""

    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.start = nn.Linear(6, 5)
        self.layer = kind(6, 5, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        start = torch.tanh(self.start(x[:, 0])).unsqueeze(0)
        state = (start, start * 0.5) if isinstance(self.layer, nn.LSTM) else start
        return self.layer(x, state)[0]


class Cell(nn.Module):
    """A cell, taking the steps one by one."""

    def __init__(self, kind: type[nn.RNNCellBase]) -> None:
        super().__init__()
        self.cell = kind(6, 5)

    def forward(self, x: Tensor) -> Tensor:
        state: Any = None
        outputs = []
        for step in x.unbind(1):
            state = self.cell(step, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(outputs, dim=1)


class Bag(nn.Module):
    """An embedding bag whose bags lie one after the other."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(10, 4, mode=mode)

    def forward(self, words: Tensor) -> Tensor:
        rows, length = words.shape
        return self.bag(words.flatten(), torch.arange(rows) * length)


class Weighted(nn.Module):
    """An embedding bag with weights that are computed."""

    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(10, 4, mode="sum")

    def forward(self, words: Tensor, weights: Tensor) -> Tensor:
        return self.bag(words, per_sample_weights=weights)


class Padded(nn.Module):
    """An embedding whose padding is met, with a gradient that must not reach it."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4, padding_idx=index)
        nn.init.normal_(self.embedding.weight)

    def forward(self, words: Tensor) -> Tensor:
        return torch.tanh(self.embedding(words))


def recurrent(name: str, kind: type[nn.RNNBase], **settings: Any) -> Case:
    return through(f"{kind.__name__}{name}", layer(Recurrent, kind, **settings), *SEQUENCE)


def words_with_padding(shape: tuple[int, ...]) -> Sample:
    drawn = integers(10, shape)

    def sample(rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        (words,) = drawn(rows, generator)
        words[:, ::2] = 3
        return (words,)

    return sample


CASES: tuple[Case, ...] = (
    through("Linear", layer(nn.Linear, 6, 3), normal((6,)), normal((5, 6)), normal((2, 3, 6))),
    through("Linear, no bias", layer(nn.Linear, 6, 3, bias=False), normal((6,)), normal((5, 6))),
    through(
        "Bilinear",
        layer(nn.Bilinear, 6, 5, 3),
        normal((6,), (5,)),
        normal((4, 6), (4, 5)),
    ),
    through("Bilinear, no bias", layer(nn.Bilinear, 6, 5, 3, bias=False), normal((6,), (5,))),
    through("Embedding", layer(nn.Embedding, 10, 4), *WORDS),
    through("Embedding, padding_idx", layer(Padded, 3), *map(words_with_padding, ((7,), (3, 4)))),
    through("Embedding, padding_idx -7", layer(Padded, -7), words_with_padding((7,))),
    of(
        "F.embedding with a computed table",
        lambda words, table: functional.embedding(words, table.mean(0)),
        together(integers(5, (3,)), normal((5, 4))),
    ),
    through("EmbeddingBag, sum", layer(nn.EmbeddingBag, 10, 4, mode="sum"), BAG),
    through("EmbeddingBag, mean", layer(nn.EmbeddingBag, 10, 4), BAG),
    through("EmbeddingBag, max", layer(nn.EmbeddingBag, 10, 4, mode="max"), BAG),
    through("EmbeddingBag, offsets, sum", layer(Bag, "sum"), BAG),
    through("EmbeddingBag, offsets, mean", layer(Bag, "mean"), BAG),
    through("EmbeddingBag, weighted", Weighted, together(BAG, uniform(0.5, 1.5, (5,)))),
    *(
        recurrent(name, kind, **settings)
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
        for name, settings in {
            "": {},
            ", sequence first": {"batch_first": False},
            ", no bias": {"bias": False},
            ", bidirectional": {"bidirectional": True},
            ", two layers": {"num_layers": 2},
            ", three layers, bidirectional": {"num_layers": 3, "bidirectional": True},
        }.items()
    ),
    recurrent(", relu", nn.RNN, nonlinearity="relu"),
    recurrent(", relu, bidirectional", nn.RNN, nonlinearity="relu", bidirectional=True),
    recurrent(", projection", nn.LSTM, proj_size=3),
    *(
        through(f"{kind.__name__}, outputs only", layer(OutputOnly, kind), *SEQUENCE)
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
    ),
    *(
        through(f"{kind.__name__}, initial state", layer(FromState, kind), *SEQUENCE)
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
    ),
    whole("LSTM straight from the input", (layer(OutputOnly, nn.LSTM), normal((5, 6)))),
    whole("GRU straight from the input", (layer(OutputOnly, nn.GRU), normal((5, 6)))),
    *(
        through(kind.__name__, layer(Cell, kind), *SEQUENCE)
        for kind in (nn.LSTMCell, nn.GRUCell, nn.RNNCell)
    ),
)

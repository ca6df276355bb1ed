"""Recurrent layers, whose sequences have another length at every step of training."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.coverage.case import Case, whole
from tests.coverage.cases_convolutions import layer
from tests.coverage.cases_layers import FromState, Recurrent


class OfAnyLength(nn.Module):
    """Every output of a recurrent layer, averaged over the steps, and its last states."""

    def __init__(self, kind: type[nn.RNNBase], **settings: Any) -> None:
        super().__init__()
        self.body = Recurrent(kind, **settings).layer
        outputs = self.body.hidden_size * (2 if self.body.bidirectional else 1)
        self.before, self.head = nn.Linear(6, 6), nn.Linear(outputs, 3)

    def forward(self, x: Tensor) -> Tensor:
        batch_first = self.body.batch_first
        given = torch.tanh(self.before(x))
        steps, states = self.body(given if batch_first else given.transpose(0, 1))
        hidden = torch.cat(states) if isinstance(states, tuple) else states
        return self.head(steps.mean(1 if batch_first else 0)) + hidden.sum((0, 2)).unsqueeze(1)


class Started(FromState):
    """The states of all steps, from a first state that is computed."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).cumsum(1).mean(1)


class Stacked(nn.Module):
    """A recurrent layer in a usual surrounding: convolution before, attention over the steps."""

    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(6, 6, 3, padding=1)
        self.body = kind(6, 4, num_layers=2, batch_first=True, bidirectional=True, dropout=0.0)
        self.score, self.head = nn.Linear(8, 1), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        found = torch.relu(self.convolution(x.transpose(1, 2))).transpose(1, 2)
        steps, _ = self.body(found)
        weights = torch.softmax(self.score(steps), dim=1)
        return self.head((weights * steps).sum(1))


def lengths(first: int, second: int) -> Any:
    """Sequences of so many steps in the first step of training, which the export sees, and then."""

    def sample(rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        length = first if rows == 4 else second
        return (torch.randn((rows, length, 6), generator=generator) * 1.5,)

    return sample


LENGTHS = (lengths(5, 8), lengths(7, 2), lengths(3, 1))
TIME = {1: "time"}


def of_any_length(name: str, make: Any) -> Case:
    return whole(name, *((make, sample, None, TIME) for sample in LENGTHS))


CASES: tuple[Case, ...] = (
    *(
        of_any_length(f"{kind.__name__}, any length{name}", layer(OfAnyLength, kind, **settings))
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
    of_any_length(
        "RNN, any length, relu, bidirectional",
        layer(OfAnyLength, nn.RNN, nonlinearity="relu", bidirectional=True),
    ),
    *(
        of_any_length(f"{kind.__name__}, any length, initial state", layer(Started, kind))
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
    ),
    *(
        of_any_length(f"{kind.__name__}, any length, after convolution", layer(Stacked, kind))
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
    ),
)

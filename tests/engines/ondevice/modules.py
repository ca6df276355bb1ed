"""Modules with what is particular about on-device training, as factories for `load_model`."""

from __future__ import annotations

import torch
from torch import nn


def normalized() -> nn.Module:
    """Both kinds of batch normalization; no bias before them, whose gradient is rounding noise."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(144, 8, bias=False),
        nn.BatchNorm1d(8, momentum=0.2),
        nn.ReLU(),
        nn.Linear(8, 3),
    )


class Tied(nn.Module):
    """A tied output layer, Dropout, a second output, and a parameter that only that one needs.

    Returns class scores on axis 1, (batch, 7, 5), and an auxiliary output.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 6)
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(6, 7, bias=False)
        self.head.weight = self.embedding.weight
        self.auxiliary = nn.Linear(6, 2)
        self.register_buffer("steps", torch.tensor(3))

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.dropout(self.embedding(tokens))
        return self.head(hidden).transpose(1, 2), self.auxiliary(hidden)


def tied() -> nn.Module:
    torch.manual_seed(0)
    return Tied()


def large_vocabulary() -> nn.Module:
    """Class scores of each token, (batch, length, 4096): a row of logits is 16 kB."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(4096, 32), nn.Linear(32, 32), nn.Linear(32, 4096))

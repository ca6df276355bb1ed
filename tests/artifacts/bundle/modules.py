"""Small modules of the three kinds whose bundles are tried, as factories for `load_model`."""

from __future__ import annotations

import torch
from torch import nn


class TwoTables(nn.Module):
    """Regression from two inputs, readings (batch, 3) and codes (batch, 2), to two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.hidden = nn.Linear(11, 8)
        self.height = nn.Linear(8, 1)
        self.place = nn.Linear(8, 2)

    def forward(
        self, readings: torch.Tensor, codes: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        joined = torch.cat([readings, self.embedding(codes).flatten(1)], 1)
        hidden = torch.tanh(self.hidden(joined))
        return self.height(hidden), self.place(hidden)


def two_tables() -> nn.Module:
    torch.manual_seed(0)
    return TwoTables()


class Tokens(nn.Module):
    """The next of 11 tokens at each of 5 places, (batch, 5, 11), with Dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(8, 11)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.dropout(self.embedding(tokens)))


def token_model() -> nn.Module:
    torch.manual_seed(0)
    return Tokens()

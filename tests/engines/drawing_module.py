"""A module that draws in every way and counts its steps, as a factory for `load_model`."""

from __future__ import annotations

import torch
from torch import nn


class Drawing(nn.Module):
    """Products of each kind of draw with the input: (batch, kinds, 8) from (batch, 8)."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.leak, self.drop = nn.Linear(8, 8), nn.RReLU(), nn.Dropout(0.5)
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.get_buffer("steps").add_(1)
        x = self.layer(x)
        classes = torch.multinomial(torch.softmax(x, 1), 8, replacement=True)
        draws = [
            x * torch.randn_like(x),
            x * torch.rand(x.shape),
            x * torch.bernoulli(torch.sigmoid(x)),
            x * classes,
            self.leak(x),
            self.drop(x),
        ]
        return torch.stack(draws, 1)


def drawing() -> nn.Module:
    torch.manual_seed(0)
    return Drawing()

"""An encoder of plain torch layers; torch is imported here and nowhere above."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class TextBERT(nn.Module):
    """Predicts every character from those on both sides.

    Post-norm blocks and learned positions as in BERT (J. Devlin et al., 2019), without dropout.
    """

    positions: Tensor

    def __init__(self, vocabulary: int, context: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(context, width)
        self.norm = nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(
            width,
            heads,
            4 * width,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        norm = nn.LayerNorm(width)
        self.blocks = nn.TransformerEncoder(layer, depth, norm, enable_nested_tensor=False)
        self.output = nn.Linear(width, vocabulary)
        self.register_buffer("positions", torch.arange(context), persistent=False)
        with torch.no_grad():
            self.places.weight.copy_(waves(context, width))

    def forward(self, characters: Tensor) -> Tensor:
        """From (batch, length) int64, at most `context` long, to logits (batch, length, V)."""
        places = self.places(self.positions[: characters.shape[1]])
        x = self.norm(self.tokens(characters) + places)  # (batch, length, width)
        logits: Tensor = self.output(self.blocks(x))
        return logits


def waves(count: int, width: int) -> Tensor:
    """(count, width) sines and cosines, from which a distance can be read at once.

    Source: A. Vaswani et al., "Attention Is All You Need", 2017.
    """
    places = torch.arange(count)[:, None]
    speeds = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    return torch.stack([torch.sin(places * speeds), torch.cos(places * speeds)], dim=2).flatten(1)

"""A decoder-only transformer in plain modules; torch is imported here and nowhere above."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class TextGPT(nn.Module):
    """Predicts the next character at every position.

    Pre-norm blocks and learned positions as in GPT-2 (A. Radford et al., "Language Models are
    Unsupervised Multitask Learners", 2019), without dropout. Weights start from a normal
    distribution with GPT-2's deviation of 0.02 at width 768, larger for a smaller width by the root
    of their ratio; biases start at 0.
    """

    mask: Tensor
    positions: Tensor

    def __init__(self, characters: int, context: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(characters, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, characters)
        self.register_buffer("positions", torch.arange(context), persistent=False)
        # Added to the scores: 0 for what may be looked at, and for what comes later a number that
        # no score makes up for, yet finite, since infinities turn to NaN in some kernels.
        later = torch.triu(torch.full((context, context), -1e4), diagonal=1)
        self.register_buffer("mask", later, persistent=False)
        deviation = 0.02 * math.sqrt(768 / width)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=deviation)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, characters: Tensor) -> Tensor:
        """From (batch, length) int64, at most `context` long, to logits (batch, length, V)."""
        length = characters.shape[1]
        x = self.tokens(characters) + self.places(self.positions[:length])  # (batch, length, width)
        mask = self.mask[:length, :length]
        for block in self.blocks:
            x = block(x, mask)
        logits: Tensor = self.output(self.norm(x))
        return logits


class Block(nn.Module):
    """Attention, then a network of one hidden layer, each added to what it was given."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """From (batch, length, width) to the same shape."""
        x = x + self.attention(self.norm1(x), mask)
        y: Tensor = x + self.mlp(self.norm2(x))
        return y


class Attention(nn.Module):
    """Scaled dot-product attention over several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.scale = 1 / math.sqrt(width // heads)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """From (batch, length, width) to the same shape; `mask` (length, length) is added."""
        length, width = x.shape[1:]

        def split(y: Tensor) -> Tensor:  # (batch, heads, length, width / heads)
            return y.reshape(-1, length, self.heads, width // self.heads).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = query @ key.transpose(2, 3) * self.scale + mask
        mixed = scores.softmax(dim=-1) @ value
        y: Tensor = self.output(mixed.transpose(1, 2).reshape(-1, length, width))
        return y

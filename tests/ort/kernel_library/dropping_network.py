"""A network with dropout of attention's probabilities, written in two ways, and after a GELU."""

from __future__ import annotations

import torch
from torch import Tensor, nn

LENGTH, WIDTH = 6, 16


class DroppingNetwork(nn.Module):
    """Two layers of attention, the first one causal, and one after a GELU."""

    def __init__(self, words: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(words, WIDTH)
        self.packed = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(2))
        self.dropout = nn.Dropout(0.3)
        self.up, self.down = nn.Linear(WIDTH, 24), nn.Linear(24, WIDTH)
        self.head = nn.Linear(WIDTH, words)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens)
        for index, packed in enumerate(self.packed):
            parts = packed(x).unflatten(-1, (3, 2, WIDTH // 2)).movedim(-3, 0).transpose(-2, -3)
            query, key, value = parts.unbind(0)
            if index:
                chances = self.dropout((query @ key.mT * 0.4).softmax(-1))
                mixed = chances @ value
            else:
                share = 0.3 if self.training else 0.0
                mixed = nn.functional.scaled_dot_product_attention(
                    query, key, value, dropout_p=share, is_causal=True
                )
            x = x + mixed.transpose(1, 2).flatten(2)
        x = x + self.down(self.dropout(nn.functional.gelu(self.up(x))))
        logits: Tensor = self.head(x)
        return logits

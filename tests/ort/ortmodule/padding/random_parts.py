"""Parts of random modules on padded tokens: (batch, tokens, WIDTH) in, the same out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

WORDS, WIDTH, LONGEST = 20, 8, 16


class Padded(NamedTuple):
    """The tokens of a batch, and which of them are no padding."""

    tokens: Tensor
    keep: Tensor
    """Bool, (batch, tokens)."""

    @property
    def real(self) -> Tensor:
        """1 and 0, (batch, tokens, 1)."""
        return self.keep.unsqueeze(-1).float()


Of = Callable[[Tensor, Padded], Tensor]
Part = Callable[[], nn.Module]

LOWEST = torch.finfo(torch.float32).min

HIDDEN: Mapping[str, Of] = {
    "filled with -inf": lambda x, p: x.masked_fill(~p.keep, -torch.inf),
    "filled with -1e9": lambda x, p: x.masked_fill(~p.keep, -1e9),
    "filled with finfo.min": lambda x, p: x.masked_fill(~p.keep, LOWEST),
    "chosen, else -1e9": lambda x, p: torch.where(p.keep, x, torch.tensor(-1e9)),
    "chosen by equality with 0": lambda x, p: x.masked_fill(p.keep.long() == 0, -1e10),
    "added -1e9": lambda x, p: x + (1.0 - p.keep.float()) * -1e9,
    "added finfo.min": lambda x, p: x + (1.0 - p.keep.float()) * LOWEST,
    "added -inf": lambda x, p: x + torch.zeros_like(x).masked_fill(~p.keep, -torch.inf),
    "added twice": lambda x, p: x + p.keep.logical_not().float() * -1e9 + p.keep.float().log(),
    "added -10": lambda x, p: x + (1.0 - p.keep.float()) * -10,
}
"""Scores with those of padding hidden; `keep` is of their shape."""


class Function(nn.Module):
    """A part without parameters."""

    def __init__(self, function: Of) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, padded: Padded) -> Tensor:
        return self.function(x, padded)


class ByToken(nn.Module):
    """A layer that needs no mask, and what is made of its input and its result."""

    def __init__(
        self, layer: Callable[[], nn.Module], made: Callable[[Tensor, nn.Module], Tensor]
    ) -> None:
        super().__init__()
        self.layer, self.made = layer(), made

    def forward(self, x: Tensor, padded: Padded) -> Tensor:
        return self.made(x, self.layer)


def layer(build: Callable[[], nn.Module], made: Callable[..., Tensor] = lambda x, f: f(x)) -> Part:
    return lambda: ByToken(build, made)


def feed_forward(activation: Callable[[], nn.Module]) -> nn.Module:
    return nn.Sequential(
        nn.Linear(WIDTH, 2 * WIDTH), activation(), nn.Dropout(0.0), nn.Linear(2 * WIDTH, WIDTH)
    )


class Attention(nn.Module):
    """Attention that is written out, with its input added."""

    def __init__(
        self,
        hidden: str,
        heads: int = 2,
        causal: bool = False,
        weights: Of = lambda weights, padded: weights,
    ) -> None:
        super().__init__()
        self.hidden, self.heads, self.causal, self.weights = HIDDEN[hidden], heads, causal, weights
        self.inner, self.outer = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, padded: Padded) -> Tensor:
        batch, length, _ = x.shape
        parts = self.inner(x).view(batch, length, 3, self.heads, WIDTH // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = padded._replace(keep=padded.keep[:, None, None])
        if self.causal:
            keep = seen.keep & torch.ones(length, length, dtype=torch.bool).tril()
            seen = padded._replace(keep=keep)
        scores = self.hidden(query @ key.transpose(-1, -2) / 3, seen)
        found = self.weights(torch.softmax(scores, -1), seen) @ value
        return x + self.outer(found.transpose(1, 2).reshape(x.shape))


class ScaledDotProduct(nn.Module):
    """PyTorch's function for attention, with a mask of booleans or of numbers."""

    def __init__(self, mask: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.mask = mask
        self.query, self.both = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH)

    def forward(self, x: Tensor, padded: Padded) -> Tensor:
        query, key, value = (
            each.unflatten(-1, (2, -1)).transpose(1, 2)
            for each in (self.query(x), *self.both(x).chunk(2, -1))
        )
        mask = self.mask(padded.keep[:, None, None])
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return x + found.transpose(1, 2).flatten(2)


class MultiHead(nn.Module):
    """PyTorch's layer for attention."""

    def __init__(self, mask: Callable[[Tensor], Tensor], batch_first: bool, weights: bool) -> None:
        super().__init__()
        self.mask, self.weights = mask, weights
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=batch_first)

    def forward(self, x: Tensor, padded: Padded) -> Tensor:
        given = x if self.attention.batch_first else x.transpose(0, 1)
        mask = self.mask(padded.keep)
        found, _ = self.attention(given, given, given, mask, need_weights=self.weights)
        return x + (found if self.attention.batch_first else found.transpose(0, 1))


class Encoder(nn.Module):
    """PyTorch's encoder layer."""

    def __init__(self, norm_first: bool) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            WIDTH, 2, 12, 0.0, batch_first=True, norm_first=norm_first
        )

    def forward(self, x: Tensor, padded: Padded) -> Tensor:
        found: Tensor = self.layer(x, src_key_padding_mask=~padded.keep)
        return found


class Weighted(nn.Module):
    """Tokens by the softmax of a score of each, and what is made of both."""

    def __init__(self, hidden: str, made: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.hidden, self.made, self.score = HIDDEN[hidden], made, nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor, padded: Padded) -> Tensor:
        weights = torch.softmax(self.hidden(self.score(x).squeeze(-1), padded), -1)
        return self.made(x, weights.unsqueeze(-1) * x)


class Positions(nn.Module):
    """Learnt positions, counted from the first token or from the first that is kept."""

    def __init__(self, kept: bool) -> None:
        super().__init__()
        self.kept, self.places = kept, nn.Embedding(LONGEST + 1, WIDTH)

    def forward(self, x: Tensor, padded: Padded) -> Tensor:
        keep = padded.keep.long()
        places = keep.cumsum(1) * keep if self.kept else torch.arange(x.shape[1])
        return x + self.places(places)


class SlicedPositions(nn.Module):
    """Learnt positions, of which the first are added."""

    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.randn(LONGEST, WIDTH))

    def forward(self, x: Tensor, padded: Padded) -> Tensor:
        return x + self.places[: x.shape[1]]


class Types(nn.Module):
    """A second embedding of the tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.types = nn.Embedding(3, WIDTH)

    def forward(self, x: Tensor, padded: Padded) -> Tensor:
        return x + self.types(padded.tokens % 3)


class Similar(nn.Module):
    """Attention without a softmax: products of tokens, those with padding 0."""

    def __init__(self) -> None:
        super().__init__()
        self.key = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, padded: Padded) -> Tensor:
        products = torch.relu(x @ self.key(x).transpose(1, 2)) * padded.real.transpose(1, 2)
        return x + products @ x / x.shape[1]


def mean(x: Tensor, padded: Padded) -> Tensor:
    """Of the tokens that count, (batch, 1, WIDTH)."""
    return (x * padded.real).sum(1, keepdim=True) / padded.real.sum(1, keepdim=True).clamp(min=1)


def largest(x: Tensor, padded: Padded) -> Tensor:
    return x.masked_fill(~padded.keep.unsqueeze(-1), -1e9).amax(1, keepdim=True).clamp(min=-5)


def as_numbers(keep: Tensor) -> Tensor:
    return torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)

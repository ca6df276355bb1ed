"""What a seed draws: the parts of a random module on padded tokens, and its batches' padding."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.ort.ortmodule.padding.random_parts import (
    HIDDEN,
    WIDTH,
    WORDS,
    Attention,
    Encoder,
    Function,
    MultiHead,
    Padded,
    Part,
    Positions,
    ScaledDotProduct,
    Similar,
    SlicedPositions,
    Types,
    Weighted,
    as_numbers,
    feed_forward,
    largest,
    layer,
    mean,
)

_WEIGHTS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "pooled and added": lambda x, weighted: x + weighted.sum(1, keepdim=True),
    "alone": lambda x, weighted: weighted,
    "with the first": lambda x, weighted: weighted + weighted[:, :1],
}

KINDS: Mapping[str, Mapping[str, Part]] = {
    "by token": {
        **{
            f"feed-forward {each.__name__}": layer(
                partial(feed_forward, each), lambda x, f: x + f(x)
            )
            for each in (nn.GELU, nn.ReLU, nn.SiLU, nn.Tanh)
        },
        "norm": layer(lambda: nn.LayerNorm(WIDTH)),
        "RMS norm": layer(lambda: nn.RMSNorm(WIDTH)),
        "linear": layer(lambda: nn.Linear(WIDTH, WIDTH)),
        "linear, tokens first": layer(
            lambda: nn.Linear(WIDTH, WIDTH), lambda x, f: f(x.transpose(0, 1)).transpose(0, 1)
        ),
        "linear, tokens of all sequences": layer(
            lambda: nn.Linear(WIDTH, WIDTH), lambda x, f: f(x.reshape(-1, WIDTH)).view(x.shape)
        ),
        "gate": layer(lambda: nn.Linear(WIDTH, WIDTH), lambda x, f: x * f(x).sigmoid()),
    },
    "attention written out": {
        **{f"attention, {name}": partial(Attention, name) for name in HIDDEN},
        "causal attention": partial(Attention, "filled with -1e9", causal=True),
        "attention, zeros chosen": partial(
            Attention, "filled with finfo.min", 1, weights=lambda x, p: x.masked_fill(~p.keep, 0.0)
        ),
        "attention, zeros multiplied": partial(
            Attention, "added -1e9", weights=lambda x, p: x * p.keep.float()
        ),
    },
    "attention of PyTorch": {
        "scaled dot product, booleans": lambda: ScaledDotProduct(lambda keep: keep),
        "scaled dot product, numbers": lambda: ScaledDotProduct(as_numbers),
        "multi-head, booleans": lambda: MultiHead(torch.logical_not, True, False),
        "multi-head, booleans, tokens first": lambda: MultiHead(torch.logical_not, False, True),
        "multi-head, numbers": lambda: MultiHead(as_numbers, True, True),
        "encoder": partial(Encoder, False),
        "encoder, norm first": partial(Encoder, True),
    },
    "weights": {
        f"weights, {hidden}, {name}": partial(Weighted, hidden, made)
        for hidden in HIDDEN
        for name, made in _WEIGHTS.items()
    },
    "mask and positions": {
        "gate of the first token": layer(
            lambda: nn.Linear(WIDTH, WIDTH), lambda x, f: x * f(x[:, :1]).sigmoid()
        ),
        "mean added": lambda: Function(lambda x, p: x + mean(x, p)),
        "mean taken away": lambda: Function(lambda x, p: (x - mean(x, p)) * p.real),
        "largest added": lambda: Function(lambda x, p: x + largest(x, p)),
        "times mask": lambda: Function(lambda x, p: x * p.real),
        "zeros at padding": lambda: Function(
            lambda x, p: x.masked_fill(~p.keep.unsqueeze(-1), 0.0)
        ),
        "positions": partial(Positions, False),
        "positions of kept tokens": partial(Positions, True),
        "positions, sliced": SlicedPositions,
        "types": Types,
        "similar tokens": Similar,
    },
}

MIXING: Mapping[str, Part] = {
    "cumulative sum": lambda: Function(lambda x, p: x + x.cumsum(1) / 8),
    "cumulative sum of the masked": lambda: Function(lambda x, p: x + (x * p.real).cumsum(1) / 8),
    "convolution": layer(
        lambda: nn.Conv1d(WIDTH, WIDTH, 3, padding=1),
        lambda x, f: x + f(x.transpose(1, 2)).transpose(1, 2),
    ),
    "the token before": lambda: Function(
        lambda x, p: x + torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)
    ),
    "reversed": lambda: Function(lambda x, p: x + x.flip(1)),
    "mean with padding": lambda: Function(lambda x, p: x + x.mean(1, keepdim=True)),
    "recurrent": layer(lambda: nn.GRU(WIDTH, WIDTH, batch_first=True), lambda x, f: x + f(x)[0]),
    "norm over tokens": layer(
        lambda: nn.BatchNorm1d(WIDTH), lambda x, f: f(x.transpose(1, 2)).transpose(1, 2)
    ),
}
"""Those that mix tokens with padding, which has to be computed."""

PARTS: Mapping[str, Part] = {**{k: v for each in KINDS.values() for k, v in each.items()}, **MIXING}


NEEDS_A_KEY = ("-inf", "twice", "multi-head", "encoder", "dot product")
"""Of parts that may have NaN for a sequence of padding alone, which the check of a traced graph
refuses."""


class Marks(NamedTuple):
    """How padding is marked."""

    given: Callable[[Tensor], Tensor]
    """The argument, of the booleans of the tokens that are kept."""
    keep: Callable[[Tensor, Tensor], Tensor]
    """Those booleans, of the tokens and the argument."""


MARKS: Mapping[str, Marks] = {
    "tokens that are 0": Marks(torch.clone, lambda tokens, _: tokens != 0),
    "booleans": Marks(torch.clone, lambda _, mask: mask),
    "booleans of padding": Marks(torch.logical_not, lambda _, mask: ~mask),
    "int64 != 0": Marks(Tensor.long, lambda _, mask: mask != 0),
    "int64, as booleans": Marks(Tensor.long, lambda _, mask: mask.bool()),
    "int64 == 1": Marks(Tensor.long, lambda _, mask: mask == 1),
    "float > 0.5": Marks(Tensor.float, lambda _, mask: mask > 0.5),
    "float, as booleans": Marks(Tensor.float, lambda _, mask: mask.bool()),
    "float of 0 and -inf": Marks(as_numbers, lambda _, mask: mask == 0),
    "counts": Marks(
        lambda keep: keep.sum(1),
        lambda tokens, counts: torch.arange(tokens.shape[1]) < counts.unsqueeze(1),
    ),
}

NOT_TRACED = ("counts", "float of 0 and -inf")

Head = Callable[[nn.Module, Tensor, Padded, Tensor], Tensor]


def _words(head: nn.Module, x: Tensor, _: Padded, labels: Tensor) -> Tensor:
    return functional.cross_entropy(head(x).view(-1, WORDS), labels.view(-1))


def _losses(head: nn.Module, x: Tensor, padded: Padded, labels: Tensor) -> Tensor:
    found = functional.cross_entropy(head(x).transpose(1, 2), labels.clamp(min=0), reduction="none")
    return (found * padded.keep).sum() / padded.keep.sum()


def _last(head: nn.Module, x: Tensor, padded: Padded, _: Tensor) -> Tensor:
    place = (padded.keep.sum(1) - 1).clamp(min=0)
    found: Tensor = head(x[torch.arange(x.shape[0]), place])
    return found


HEADS: Mapping[str, Head] = {
    "loss of the labelled": _words,
    "mean loss of the kept": _losses,
    "kept tokens": lambda head, x, padded, _: head(x) * padded.real,
    "all tokens": lambda head, x, *_: head(x),
    "the first": lambda head, x, *_: head(x[:, 0]),
    "the last that is kept": _last,
    "the mean": lambda head, x, padded, _: head(mean(x, padded)),
    "the mean of results": lambda head, x, padded, _: mean(head(x), padded),
    "the largest": lambda head, x, padded, _: head(largest(x, padded)),
}
"""Results; the loss is of their squares."""


class Plan(NamedTuple):
    """What is drawn."""

    marks: str
    parts: tuple[str, ...]
    heads: tuple[str, ...]
    padding_idx: int | None
    side: str
    """Where padding is: "right", "left", or "anywhere"."""
    zeros: bool
    """Whether tokens at padding are 0; else they may be any."""
    labels_at_padding: bool
    alone: bool
    """Whether some batches have a sequence of padding alone."""
    sparsity: str
    """The option `embedding_sparsity`."""
    traced: bool
    """Whether the graph is traced, which takes a tenth of the time of torch.export."""


def drawn(seed: int) -> Plan:
    """The plan of a seed."""
    draw = random.Random(seed)
    count = draw.randint(3, 9)
    traced = bool(seed % 8)
    alone = draw.random() < 0.5
    parts = []
    while len(parts) < count:
        part = draw.choice(list(KINDS[draw.choice(list(KINDS))]))
        if not ((alone or traced) and any(word in part for word in NEEDS_A_KEY)):
            parts.append(part)
    if draw.random() < 0.15:
        parts.insert(draw.randrange(len(parts)), draw.choice(list(MIXING)))
    heads = draw.sample(list(HEADS), draw.randint(1, 2))
    marks = draw.choice([name for name in MARKS if not traced or name not in NOT_TRACED])
    side = "right" if marks == "counts" else draw.choice(["right", "right", "left", "anywhere"])
    zeros = marks == "tokens that are 0" or draw.random() < 0.5
    sparsity = "zeros" if "all tokens" in heads and draw.random() < 0.7 else "exact"
    # Tracing forgets it, and is refused.
    padding_idx = None if traced else draw.choice([0, None])
    return Plan(
        marks,
        tuple(parts),
        tuple(heads),
        padding_idx,
        side,
        zeros,
        draw.random() < 0.3,
        alone,
        sparsity,
        traced,
    )


class Drawn(nn.Module):
    """The module of a plan."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.keep = MARKS[plan.marks].keep
        self.words = nn.Embedding(WORDS, WIDTH, padding_idx=plan.padding_idx)
        self.parts = nn.ModuleList(PARTS[name]() for name in plan.parts)
        self.results = [HEADS[name] for name in plan.heads]
        self.heads = nn.ModuleList(nn.Linear(WIDTH, WORDS) for _ in plan.heads)

    def forward(self, tokens: Tensor, given: Tensor, labels: Tensor) -> tuple[Tensor, ...]:
        padded = Padded(tokens, self.keep(tokens, given))
        x = self.words(tokens)
        for part in self.parts:
            x = part(x, padded)
        return tuple(
            result(head, x, padded, labels)
            for result, head in zip(self.results, self.heads, strict=True)
        )

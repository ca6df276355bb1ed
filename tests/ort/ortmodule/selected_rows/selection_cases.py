"""Functions of the rows that a mask selects, of which some cannot run in a graph without rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

Function = Callable[[Any, Tensor, Tensor], Tensor]
"""Of a module with layers `m`, a vector and a table; of values; and of the mask of their rows."""

FLAT, SEQUENCE, IMAGE = (8,), (5, 8), (3, 8, 8)
ROWS = 5


class Doubled(torch.autograd.Function):
    """A custom function, which PyTorch applies between segments of the graph."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        del ctx
        return x * 2

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        del ctx
        return gradients[0] * 2


class Selecting(nn.Module):
    """Parameters and layers for a function of rows."""

    def __init__(self, function: Function, *layers: nn.Module) -> None:
        super().__init__()
        self.m = nn.ModuleList(layers)
        self.vector, self.table = nn.Parameter(torch.rand(8)), nn.Parameter(torch.rand(ROWS, 8))
        self.function = function

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.function(self, x, mask)


class Selection(NamedTuple):
    """A module, what it is called with, and whether PyTorch runs the call that selects nothing."""

    build: Callable[[], Selecting]
    shape: tuple[int, ...]
    guarded: bool
    counts: tuple[int, ...] = (3, 0, 2)
    """How many rows each call selects."""
    autocast: bool = False
    random: bool = False
    """Whether only calls without rows can be compared."""


def selected(function: Callable[[Any, Tensor], Tensor]) -> Function:
    return lambda module, x, mask: function(module, x[mask])


def bears(function: Function, *layers: Callable[[], nn.Module], **other: Any) -> Selection:
    """A function that graphs compute without rows."""
    return Selection(
        lambda: Selecting(function, *(make() for make in layers)), FLAT, False, **other
    )


def ends(
    function: Callable[[Any, Tensor], Tensor],
    *layers: Callable[[], nn.Module],
    shape: tuple[int, ...] = FLAT,
    **other: Any,
) -> Selection:
    """A function of selected rows that they do not."""
    taken = selected(function)
    return Selection(
        lambda: Selecting(taken, *(make() for make in layers)), shape, guarded=True, **other
    )


def assigned(module: Any, x: Tensor, mask: Tensor) -> Tensor:
    out = torch.zeros_like(x)
    out[mask] = module.m[0](x[mask]) * module.table[:, 0][mask].unsqueeze(-1)
    return out + x


def added(module: Any, x: Tensor, mask: Tensor) -> Tensor:
    rows = mask.nonzero().squeeze(-1)
    gate = module.table[:, 0][rows].unsqueeze(-1)
    return torch.zeros_like(x).index_add(0, rows, module.m[0](x[rows]) * gate)


def gated(module: Any, r: Tensor) -> Tensor:
    """An expert as large language models have them."""
    up, gate, down = module.m
    return down(functional.silu(gate(r)) * up(r))  # type: ignore[no-any-return]


def vector_assigned(module: Any, x: Tensor, mask: Tensor) -> Tensor:
    out = x * module.table
    out[mask] = module.vector
    return out


def numbers_assigned(module: Any, x: Tensor, mask: Tensor) -> Tensor:
    """Rows of a table by numbers that are selected and computed with."""
    rows = mask.nonzero().squeeze(-1)
    numbers = torch.zeros(ROWS, dtype=torch.int64)
    numbers[mask] = torch.arange(ROWS)[mask]
    picked = (x * module.table)[rows, rows + 1 - rows * 2 + rows.int().long()]
    out = (x * module.table)[numbers]
    return out.index_add(0, rows, picked.unsqueeze(-1) * module.vector)


def after_experts(module: Any, x: Tensor, mask: Tensor) -> Tensor:
    """All rows are there again where it is divided."""
    return added(module, x, mask) / (module.vector + 1)


def after_norm(module: Any, x: Tensor, mask: Tensor) -> Tensor:
    """A norm of all rows updates its statistics before others are selected, by its result."""
    found = module.m[0](x)
    return found[mask & (found[:, 0] < 100)] / (module.vector + 1)  # type: ignore[no-any-return]


def in_segments(module: Any, x: Tensor, mask: Tensor) -> Tensor:
    """Statistics change in a segment before that which selects; a later one gets the rows."""
    found = Doubled.apply(module.m[0](x))
    return Doubled.apply(found[mask & (found[:, 0] < 100)]) * module.vector  # type: ignore[no-any-return]


def in_frozen_segment(module: Any, x: Tensor, mask: Tensor) -> Tensor:
    """The segment that selects has no gradient."""
    found = (x.detach() + 1)[mask]
    return Doubled.apply(found * 2 + x.mean() * 0) * module.vector  # type: ignore[no-any-return]


def linear() -> nn.Module:
    return nn.Linear(8, 8)


def unbiased() -> nn.Module:
    return nn.Linear(8, 8, bias=False)


BORNE: dict[str, Selection] = {
    "linear": bears(selected(lambda s, r: s.m[0](r)), linear),
    "unbiased linear": bears(selected(lambda s, r: s.m[0](r)), unbiased),
    "products": bears(selected(lambda s, r: r * s.vector)),
    "sums": bears(selected(lambda s, r: (r + s.vector) * s.vector[0])),
    "differences": bears(selected(lambda s, r: s.vector - r)),
    "gelu": bears(selected(lambda s, r: functional.gelu(r * s.vector))),
    "relu": bears(selected(lambda s, r: functional.relu(r * s.vector))),
    "silu": bears(selected(lambda s, r: functional.silu(r * s.vector))),
    "tanh": bears(selected(lambda s, r: torch.tanh(r * s.vector))),
    "dropout": bears(selected(lambda s, r: functional.dropout(r * s.vector)), random=True),
    "layer norm": bears(selected(lambda s, r: s.m[0](r)), lambda: nn.LayerNorm(8)),
    "views": bears(selected(lambda s, r: (r * s.vector).view(-1, 2, 4) * s.vector[:4])),
    "assigned": bears(assigned, linear),
    "added": bears(added, linear),
    "gated": bears(selected(gated), linear, linear, linear),
    "rows of a table": bears(lambda s, x, mask: (x * s.table)[mask.nonzero().squeeze(-1)]),
    "two selections": bears(lambda s, x, mask: x[mask] * s.table[mask] * s.vector),
    "assigned vector": bears(vector_assigned),
    "numbers": bears(numbers_assigned),
    "after experts": bears(after_experts, linear),
}
GUARDED: dict[str, Selection] = {
    "convolution": ends(lambda s, r: s.m[0](r), lambda: nn.Conv2d(3, 8, 1), shape=IMAGE),
    "division": ends(lambda s, r: r / (s.vector + 1)),
    "einsum": ends(lambda s, r: torch.einsum("nd,d->nd", r, s.vector)),
    "first without": ends(lambda s, r: (r * s.vector).mean(1), counts=(0, 3, 0, 2)),
    "after a norm": Selection(
        lambda: Selecting(after_norm, nn.BatchNorm1d(8)), FLAT, guarded=True, counts=(3, 0, 0, 2)
    ),
    "segments": Selection(lambda: Selecting(in_segments, nn.BatchNorm1d(8)), FLAT, guarded=True),
    "vector product": ends(lambda s, r: r @ s.vector),
    "autocast": ends(lambda s, r: s.m[0](r / (s.vector + 1)), linear, autocast=True),
    "frozen segment": Selection(lambda: Selecting(in_frozen_segment), FLAT, guarded=True),
    "sequences": ends(lambda s, r: s.m[0](r), linear, shape=SEQUENCE),
    "transposed convolution": ends(
        lambda s, r: s.m[0](r), lambda: nn.ConvTranspose2d(3, 8, 3), shape=IMAGE
    ),
    "adaptive pooling": ends(
        lambda s, r: functional.adaptive_avg_pool2d(r * s.vector, 1), shape=IMAGE
    ),
    "group norm": ends(lambda s, r: s.m[0](r * s.vector), lambda: nn.GroupNorm(3, 3), shape=IMAGE),
    "rms norm": ends(lambda s, r: s.m[0](r), lambda: nn.RMSNorm(8)),
    "attention": ends(
        lambda s, r: s.m[0](r, r, r, need_weights=False)[0],
        lambda: nn.MultiheadAttention(8, 2, batch_first=True),
        shape=SEQUENCE,
    ),
    "lstm": ends(
        lambda s, r: s.m[0](r)[0], lambda: nn.LSTM(8, 8, batch_first=True), shape=SEQUENCE
    ),
    "gru": ends(lambda s, r: s.m[0](r)[0], lambda: nn.GRU(8, 8, batch_first=True), shape=SEQUENCE),
    "concatenation": ends(lambda s, r: torch.cat([r, r * s.vector], 1)),
    "topk": ends(lambda s, r: (r * s.vector).topk(2, 1)[0]),
    "sums of rows": ends(lambda s, r: (r * s.vector).sum(-1)),
}
CASES = BORNE | GUARDED

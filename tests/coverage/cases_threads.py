"""Layers whose kernels share out work that ends in one sum, large enough for threads to meet."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.coverage.blocks import First
from tests.coverage.case import Case, integers, normal, of, through, together, whole

TABLE, WIDTH, LENGTH = 95, 144, 512
"""Rows of a table, their width, and how many indices of it a row of the batch has."""

INDICES = integers(TABLE, (LENGTH,))
ROWS = normal((LENGTH, WIDTH))
IMAGE = normal((16, 32, 32))
CHOSEN = together(normal((TABLE, WIDTH)), integers(TABLE, (LENGTH,)))


class Table(nn.Module):
    """Looks rows up, and adds them back to the places that they came from, in some way."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.table = nn.Embedding(TABLE, WIDTH)
        self.scale = nn.Parameter(torch.rand(WIDTH) + 0.5)
        self.way = way

    def forward(self, indices: Tensor) -> Tensor:
        flat = indices.reshape(-1)
        rows = self.table(flat) * self.scale
        total = torch.zeros(TABLE, WIDTH)
        if self.way == "index_add":
            # Threads have so many occasions a step to meet.
            for _ in range(4):
                total = total.index_add(0, flat, rows)
        elif self.way == "index_put":
            total = total.index_put((flat,), rows, accumulate=True)
        elif self.way == "index_put, two axes":
            # The numbers of a row go to the columns from a place on.
            across = torch.arange(WIDTH) + flat.unsqueeze(1)
            total = total.index_put((flat.unsqueeze(1), across % WIDTH), rows, accumulate=True)
        else:
            places = flat.unsqueeze(1).expand(-1, WIDTH)
            total = total.scatter_reduce(0, places, rows, self.way)
        # The batch is the first axis of every result.
        return total.mean(0) * self.table(indices[:, 0])


class Bags(nn.Module):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.bags = nn.EmbeddingBag(TABLE, WIDTH, mode=mode)

    def forward(self, indices: Tensor) -> Tensor:
        return self.bags(indices)


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(width, 4, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x, x, x, need_weights=False)[0]


def table(way: str) -> Case:
    return whole(f"rows added back by {way}", (lambda: Table(way), INDICES))


def embedding(name: str, **settings: int) -> Case:
    return whole(name, (lambda: nn.Embedding(TABLE, WIDTH, **settings), INDICES))


def likelihood(x: Tensor, places: Tensor) -> Tensor:
    return functional.cross_entropy(x.transpose(1, 2), places, reduction="none")


REPRESENTATIVE = table("index_add")
"""Settings of every run of the tests."""

CASES: tuple[Case, ...] = (
    REPRESENTATIVE,
    table("index_put"),
    table("index_put, two axes"),
    table("sum"),
    table("amax"),
    table("mean"),
    embedding("Embedding"),
    embedding("Embedding, padding_idx", padding_idx=3),
    whole("EmbeddingBag, mean", (lambda: Bags("mean"), INDICES)),
    whole("EmbeddingBag, max", (lambda: Bags("max"), INDICES)),
    of("index by a tensor", lambda x, i: x[:, i[0]], CHOSEN),
    of("index by two tensors", lambda x, i: x[:, i[0], i[1] % WIDTH], CHOSEN),
    of("gather", lambda x, i: x.gather(1, i.unsqueeze(-1).expand(-1, -1, WIDTH)), CHOSEN),
    of("slices that overlap", lambda x: x[:, 1:] * x[:, :-1], ROWS),
    of("unfold of a sequence", lambda x: x[..., :16].unfold(1, 5, 1), ROWS),
    of("cumsum", lambda x: x.cumsum(1), ROWS),
    of("sum of a broadcast", lambda x: x * x[:, :1] * x[..., :1], ROWS),
    of("repeat", lambda x: x[..., :16].repeat(1, 3, 2), ROWS),
    of("cat and split", lambda x: torch.cat(x.split(36, -1)[::-1], 1), ROWS),
    of("max", lambda x: x.max(1).values, ROWS),
    of("amax", lambda x: x.amax(1), ROWS),
    of("topk", lambda x: x.topk(8, -1).values, ROWS),
    of("einsum", lambda x: torch.einsum("bij,bik->bjk", x, x), ROWS),
    of("softmax", lambda x: x.softmax(-1), ROWS),
    of("softmax, first axis of a row", lambda x: x.softmax(1), ROWS),
    of("cross_entropy", likelihood,
       together(normal((LENGTH, TABLE)), integers(TABLE, (LENGTH,)))),
    through("Linear", lambda: nn.Linear(WIDTH, 96), ROWS),
    through("LayerNorm", lambda: nn.LayerNorm(WIDTH), ROWS),
    through("RMSNorm", lambda: nn.RMSNorm(WIDTH), ROWS),
    through("GELU", nn.GELU, ROWS),
    through("GELU, tanh", lambda: nn.GELU("tanh"), ROWS),
    through("PReLU", lambda: nn.PReLU(LENGTH), ROWS),
    through("BatchNorm2d", lambda: nn.BatchNorm2d(16), IMAGE),
    through("GroupNorm", lambda: nn.GroupNorm(4, 16), IMAGE),
    through("Conv2d", lambda: nn.Conv2d(16, 24, 3, padding=1), IMAGE),
    through("Conv2d, depthwise", lambda: nn.Conv2d(16, 16, 3, padding=1, groups=16), IMAGE),
    through("ConvTranspose2d", lambda: nn.ConvTranspose2d(16, 12, 4, stride=2, padding=1), IMAGE),
    through("MaxPool2d, windows that overlap", lambda: nn.MaxPool2d(3, 1), IMAGE),
    through("AvgPool2d, windows that overlap", lambda: nn.AvgPool2d(3, 1), IMAGE),
    through("Upsample, bilinear", lambda: nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    through("Upsample, nearest", lambda: nn.Upsample(scale_factor=2), IMAGE),
    through("ReflectionPad2d", lambda: nn.ReflectionPad2d(3), IMAGE),
    through("Unfold", lambda: nn.Unfold(3), IMAGE),
    of("fold", lambda x: functional.fold(x, (32, 32), 3), normal((4 * 9, 900))),
    through("LSTM", lambda: First(nn.LSTM(WIDTH, 48, batch_first=True)), normal((64, WIDTH))),
    through("GRU", lambda: First(nn.GRU(WIDTH, 48, batch_first=True)), normal((64, WIDTH))),
    through("RNN", lambda: First(nn.RNN(WIDTH, 48, batch_first=True)), normal((64, WIDTH))),
    through("MultiheadAttention", lambda: Attention(WIDTH), normal((128, WIDTH))),
)  # fmt: skip

"""Modules whose gradients PyTorch's kernels compute, with the operators that they must replace."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tests.representative import representative


class Case(NamedTuple):
    """A module, the input of one sample, and what is expected of its graph."""

    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    replaced: Mapping[str, int]
    """Operator -> how many of its nodes PyTorch's kernels run."""
    kept: Mapping[str, int] = MappingProxyType({})
    """Operator -> how many stay with ONNX Runtime."""
    classes: int = 0
    """Above zero: the input is of integers below this."""

    def input(self, batch: int) -> Tensor:
        torch.manual_seed(batch)
        if self.classes:
            return torch.randint(0, self.classes, (batch, *self.shape))
        return torch.randn(batch, *self.shape)


class Behind(nn.Module):
    """A layer behind a parameter, so that a gradient goes through the layer's input."""

    def __init__(self, layer: nn.Module | Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layer(x * self.scale)
        return result


class Picked(nn.Module):
    """The last place along an axis, with a negative index, and repeated rows of a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.randn(5, 6))
        self.register_buffer("places", torch.tensor([-1, 0, 2, -1]))

    def forward(self, x: Tensor) -> Tensor:
        scaled = x * self.rows.sum()
        places: Tensor = self.get_buffer("places")
        return scaled[:, -1] + self.rows[places].sum(0)


class Attends(nn.Module):
    """Attention of (heads, length, width) to itself, each operand behind a parameter of its own."""

    def __init__(self, attend: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.scales = nn.Parameter(torch.tensor([0.9, 1.1, 1.2]))
        self.attend = attend

    def forward(self, x: Tensor) -> Tensor:
        return self.attend(x * self.scales[0], x * self.scales[1], x * self.scales[2])


class Biased(nn.Module):
    """Attention with a learnt number added to the scores of each distance."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(HEADS[1], HEADS[1]))

    def forward(self, x: Tensor) -> Tensor:
        return attention(x, x, x, attn_mask=self.bias)


class Latents(nn.Module):
    """Learnt queries, the same for every sample: a batch of one beside that of the keys."""

    def __init__(self) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.randn(1, 4, 6, 8))

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.queries @ x.transpose(-2, -1), -1) @ x


class Turned(nn.Module):
    """A linear layer whose weight is (in, out), and its transpose used once more."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(256, 512) / 16)
        self.bias = nn.Parameter(torch.randn(512))

    def forward(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x.flatten(0, 1), self.weight) @ self.weight.T


def lowest_by_hand(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Scores of a query that sees nothing are masked by a number: its weights are alike."""
    low = torch.finfo(torch.float32).min
    mask = torch.zeros(12, 12).masked_fill(~BLIND, low)
    weights = torch.softmax(query @ key.transpose(-1, -2) * 0.3 + mask, dim=-1)
    return weights @ value


def by_hand(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention as users write it: scores divided, a mask of minus infinity added."""
    length = query.shape[-2]
    mask = torch.full((length, length), -torch.inf).triu(1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return torch.softmax(scores + mask, -1) @ value


def with_weights(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = torch.softmax(query @ key.transpose(-2, -1), -1)
    return torch.cat([weights @ value, weights], -1)


class Alone(nn.Module):
    """A MultiheadAttention of its input with itself; without the weights."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.attention(x, x, x, need_weights=False)[0]
        return result


class Gated(nn.Module):
    """A SiLU that scales another value."""

    def __init__(self) -> None:
        super().__init__()
        self.scales = nn.Parameter(torch.tensor([0.9, 1.1]))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.silu(x * self.scales[0]) * (x * self.scales[1])


class Scaled(nn.Module):
    """A SiLU that a weight scales, one number for each place on the last axis."""

    def __init__(self) -> None:
        super().__init__()
        self.scales = nn.Parameter(torch.linspace(0.5, 1.5, 128))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.silu(x * self.scales) * self.scales


def signs(x: Tensor) -> Tensor:
    """The loss of rows that should be largest where the last number is."""
    labels = (x.flatten(0, 1)[:, -1] > 0).long() * 6
    return nn.functional.cross_entropy(x.flatten(0, 1), labels)


def spelled_gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def frozen(layer: nn.Module, *names: str) -> nn.Module:
    """`layer` with these parameters frozen."""
    for name in names:
        layer.get_parameter(name).requires_grad_(False)
    return layer


attention = nn.functional.scaled_dot_product_attention
HEADS = (4, 12, 8)
SEEN = torch.ones(12, 12, dtype=torch.bool).tril()
BLIND = SEEN & (torch.arange(12) != 5)[:, None]
"""Its sixth row sees nothing."""
LINEAR = {"Linear": 1}
ATTENTION = {"Attention": 1}

LAYER_NORM = ({"LayerNormalizationGrad": 1}, {"LayerNormalization": 1})
SOFTMAX = {"SoftmaxGrad_13": 1}

CONVS = {"Conv": 1, "ConvGrad": 1}
POOLS = {"MaxPoolGrad": 1}
IMAGE = (8, 16, 16)

EVERY_CASE: dict[str, Case] = {
    "conv1d": Case(lambda: Behind(nn.Conv1d(16, 32, 5, padding=2)), (16, 64), CONVS),
    "conv2d": Case(lambda: Behind(nn.Conv2d(8, 16, 3, padding=1)), IMAGE, CONVS),
    "conv3d": Case(lambda: Behind(nn.Conv3d(4, 8, 3, padding=1)), (4, 6, 8, 8), CONVS),
    "conv, no bias": Case(lambda: Behind(nn.Conv2d(8, 16, 3, bias=False)), IMAGE, CONVS),
    "conv, first layer": Case(lambda: nn.Conv2d(8, 16, 3), IMAGE, CONVS),
    "conv, three channels, first layer": Case(lambda: nn.Conv2d(3, 32, 3), (3, 20, 20), CONVS),
    "conv, three channels": Case(
        lambda: Behind(nn.Conv2d(3, 32, 3)), (3, 20, 20), {"Conv": 1}, {"ConvGrad": 1}
    ),
    "conv, frozen weight": Case(
        lambda: Behind(frozen(nn.Conv2d(8, 16, 3), "weight")), IMAGE, CONVS
    ),
    "conv, frozen": Case(
        lambda: Behind(frozen(nn.Conv2d(8, 16, 3), "weight", "bias")), IMAGE, CONVS
    ),
    "conv, groups": Case(lambda: Behind(nn.Conv2d(8, 16, 5, groups=2)), IMAGE, CONVS),
    "conv, depthwise": Case(lambda: Behind(nn.Conv2d(32, 32, 5, groups=32)), (32, 16, 16), CONVS),
    "conv, dilated": Case(lambda: Behind(nn.Conv2d(8, 16, 3, dilation=2)), IMAGE, CONVS),
    "conv, strided": Case(lambda: Behind(nn.Conv2d(8, 32, 3, stride=2, padding=1)), IMAGE, CONVS),
    "conv, strided unevenly": Case(
        lambda: Behind(nn.Conv2d(8, 32, (3, 5), stride=(2, 1), padding=(0, 2))), IMAGE, CONVS
    ),
    "conv, as many before as behind": Case(
        lambda: Behind(nn.Conv2d(8, 16, 3, padding="same")), IMAGE, CONVS
    ),
    "conv, more behind than before": Case(
        lambda: Behind(nn.Conv2d(8, 16, 4, padding="same")), IMAGE, {}, CONVS
    ),
    "conv, one by one": Case(lambda: Behind(nn.Conv2d(64, 64, 1)), (64, 8, 8), {}, CONVS),
    "conv, small": Case(lambda: Behind(nn.Conv2d(1, 4, 3)), (1, 8, 8), {}, CONVS),
    "conv, transposed": Case(lambda: Behind(nn.ConvTranspose2d(8, 16, 4, stride=2)), IMAGE, CONVS),
    "max pool": Case(lambda: Behind(nn.MaxPool2d(2)), IMAGE, POOLS),
    "max pool, one axis": Case(lambda: Behind(nn.MaxPool1d(3)), (4, 31), POOLS),
    "max pool, overlapping": Case(
        lambda: Behind(nn.MaxPool2d(3, stride=2, padding=1)), IMAGE, POOLS
    ),
    "max pool, odd size": Case(lambda: Behind(nn.MaxPool2d(2)), (4, 9, 7), POOLS),
    "max pool, ceiling": Case(
        lambda: Behind(nn.MaxPool2d(3, stride=2, ceil_mode=True)), (4, 10, 8), POOLS
    ),
    "max pool, dilated": Case(lambda: Behind(nn.MaxPool2d(2, dilation=2)), IMAGE, POOLS),
    "max pool, three axes": Case(lambda: Behind(nn.MaxPool3d(2)), (2, 4, 6, 8), {}, POOLS),
    "max pool, ties": Case(
        lambda: Behind(lambda x: nn.functional.max_pool2d(torch.relu(x), 2)),
        IMAGE,
        {"MaxPoolGrad": 1, "ReluGrad": 1},
    ),
    "relu": Case(lambda: nn.Sequential(nn.Linear(8, 8), nn.ReLU()), (8,), {"ReluGrad": 1}),
    "gelu": Case(lambda: Behind(nn.GELU()), (64, 128), {"Gelu": 1, "GeluGrad": 1}),
    "gelu, by tanh": Case(lambda: Behind(nn.GELU("tanh")), (6, 7), {"FastGeluGrad": 1}),
    "gelu, small": Case(lambda: Behind(nn.GELU()), (8,), {}, {"Gelu": 1, "GeluGrad": 1}),
    "gelu, spelled out": Case(lambda: Behind(spelled_gelu), (64, 128), {"FastGeluGrad": 1}),
    "linear": Case(lambda: Behind(nn.Linear(256, 512)), (8, 256), LINEAR),
    "linear, of rows": Case(lambda: Behind(nn.Linear(256, 512)), (256,), LINEAR),
    "linear, no bias": Case(lambda: Behind(nn.Linear(256, 512, bias=False)), (8, 256), LINEAR),
    "linear, first layer": Case(lambda: nn.Linear(256, 512), (8, 256), LINEAR),
    "linear, frozen weight": Case(
        lambda: Behind(frozen(nn.Linear(256, 512), "weight")), (8, 256), LINEAR
    ),
    "linear, frozen": Case(
        lambda: Behind(frozen(nn.Linear(256, 512), "weight", "bias")), (8, 256), LINEAR
    ),
    "linear, turned": Case(Turned, (8, 256), {"Linear": 2, "Sum": 1}),
    "linear, small": Case(lambda: Behind(nn.Linear(8, 8)), (8, 8), {}),
    "attention": Case(lambda: Attends(attention), HEADS, ATTENTION),
    "attention, causal": Case(
        lambda: Attends(lambda *x: attention(*x, is_causal=True)), HEADS, ATTENTION
    ),
    "attention, masked": Case(
        lambda: Attends(lambda *x: attention(*x, attn_mask=SEEN)), HEADS, ATTENTION
    ),
    "attention, a row that sees nothing": Case(
        lambda: Attends(lambda *x: attention(*x, attn_mask=BLIND)), HEADS, ATTENTION
    ),
    "attention, minus infinity for a row": Case(
        lambda: Attends(
            lambda *x: attention(*x, attn_mask=torch.zeros(12, 12).where(BLIND, -torch.inf))
        ),
        HEADS,
        ATTENTION,
    ),
    "attention, a mask of the keys": Case(
        lambda: Attends(lambda *x: attention(*x, attn_mask=torch.linspace(-2, 2, 12)[None])),
        HEADS,
        ATTENTION,
    ),
    "attention, a mask of the batch": Case(
        lambda: Attends(lambda q, k, v: attention(q, k, v, attn_mask=v[:, :1, None, :, 0] > -1)),
        HEADS,
        ATTENTION,
    ),
    "attention, scaled": Case(
        lambda: Attends(lambda *x: attention(*x, scale=0.3)), HEADS, ATTENTION
    ),
    "attention, more keys": Case(
        lambda: Attends(lambda q, k, v: attention(q[:, :, :7], k, v)), HEADS, ATTENTION
    ),
    "attention, fewer heads of keys": Case(
        lambda: Attends(lambda q, k, v: attention(q, k[:, :2], v[:, :2], enable_gqa=True)),
        HEADS,
        ATTENTION,
    ),
    "attention, heads behind the length": Case(
        lambda: Attends(
            lambda *x: attention(*(each.transpose(1, 2) for each in x)).transpose(1, 2)
        ),
        (12, 4, 8),
        ATTENTION,
    ),
    "attention, by hand": Case(lambda: Attends(by_hand), HEADS, ATTENTION),
    "attention, the lowest number for a row": Case(
        lambda: Attends(lowest_by_hand), HEADS, ATTENTION
    ),
    "attention, three axes": Case(lambda: Attends(attention), (12, 8), {}, SOFTMAX),
    "attention, weights too": Case(lambda: Attends(with_weights), HEADS, {}, SOFTMAX),
    "attention, queries without a batch": Case(Latents, HEADS, {}, SOFTMAX),
    "attention, learnt bias": Case(Biased, HEADS, {}, SOFTMAX),
    "attention, packed": Case(lambda: Behind(Alone()), (12, 32), ATTENTION),
    "attention, width last": Case(
        lambda: Behind(nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True)),
        (12, 32),
        {"Attention": 1, "LayerNormalizationGrad": 2, "ReluGrad": 1},
        {"LayerNormalization": 2},
    ),
    "softmax, small": Case(lambda: Behind(nn.Softmax(-1)), (8,), {}, SOFTMAX),
    "layer norm, large": Case(
        lambda: Behind(nn.LayerNorm(64)),
        (64, 64),
        {"LayerNormalization": 1, "LayerNormalizationGrad": 1},
    ),
    "sum of three, large": Case(
        lambda: Behind(lambda x: x.relu() + (x.sigmoid() + x.tanh())),
        (128, 128),
        {"Add": 2, "Sum": 1, "ReluGrad": 1},
    ),
    "sum, large": Case(
        lambda: Behind(lambda x: x.relu() + x.sigmoid()),
        (128, 128),
        {"Add": 1, "Sum": 1, "ReluGrad": 1},
    ),
    "softmax": Case(lambda: Behind(nn.Softmax(-1)), (64, 128), SOFTMAX),
    "softmax, inner axis": Case(lambda: Behind(nn.Softmax(1)), (64, 128), SOFTMAX),
    "layer norm": Case(lambda: Behind(nn.LayerNorm(32)), (5, 32), *LAYER_NORM),
    "layer norm, two axes": Case(lambda: Behind(nn.LayerNorm((4, 8))), (3, 4, 8), *LAYER_NORM),
    "layer norm, first layer": Case(lambda: nn.LayerNorm(32), (5, 32), *LAYER_NORM),
    "layer norm, frozen": Case(
        lambda: Behind(frozen(nn.LayerNorm(32), "weight", "bias")),
        (5, 32),
        *LAYER_NORM,
    ),
    "rms norm": Case(lambda: Behind(nn.RMSNorm(32)), (5, 32), {}),
    "silu": Case(lambda: Behind(nn.SiLU()), (64, 128), {}),
    "silu as a gate": Case(Gated, (64, 128), {}),
    "silu times a weight": Case(Scaled, (64, 128), {}),
    "cross entropy": Case(lambda: Behind(signs), (6, 7), {}),
    "embedding": Case(lambda: nn.Embedding(7, 5), (6,), {"GatherGrad": 1}, classes=7),
    "negative indices": Case(Picked, (3, 6), {"GatherGrad": 1}),
}

GROUPS = ("conv", "max pool", "linear", "attention", "other")
"""Cases of one group run in one graph."""


WITHOUT_PRODUCTS = [
    *("conv2d", "max pool", "gelu", "gelu, spelled out", "linear", "attention, causal"),
    *("attention, packed", "sum of three, large", "softmax", "layer norm", "embedding"),
]
"""Cases that run in one more graph, whose products are left to ONNX Runtime."""

OF_OWN_KERNELS = (
    *("conv, first layer", "conv, frozen weight", "linear, first layer", "rms norm", "silu"),
    *("silu as a gate", "silu times a weight", "cross entropy"),
)
"""Cases that have a kernel of our own, which PyTorch's do not tell apart from others."""


OF_PATHS_OF_THEIR_OWN = (
    *("attention, a row that sees nothing", "attention, a mask of the batch"),
    *("attention, queries without a batch", "negative indices"),
)
"""Cases whose operators have the kernels of others, for other reasons."""


def group_of(name: str) -> str:
    return next((group for group in GROUPS if name.startswith(group)), "other")


def first_of_each_kind() -> list[str]:
    """The first case of each group whose operators get these kernels."""
    chosen: dict[tuple[object, ...], str] = {}
    for name, case in EVERY_CASE.items():
        chosen.setdefault((group_of(name), *case.replaced, "kept", *case.kept), name)
    return list(chosen.values())


CASES = representative(
    EVERY_CASE,
    every=6,
    always={*WITHOUT_PRODUCTS, *OF_OWN_KERNELS, *OF_PATHS_OF_THEIR_OWN, *first_of_each_kind()},
)

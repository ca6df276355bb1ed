"""How a module holds its weights: shared, used twice, without use, frozen, constant."""

from __future__ import annotations

import onnx
import torch
from onnx import helper
from torch import Tensor, nn
from torch.nn import functional

from tests.coverage.case import Case, integers, normal, whole
from tests.coverage.cases_convolutions import layer
from workbench.modules.parameter_dtypes import train_in_float32


class Tied(nn.Module):
    """A language model whose head is its embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 5)
        self.body = nn.Linear(5, 5)
        self.head = nn.Linear(5, 7, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words: Tensor) -> Tensor:
        return self.head(torch.tanh(self.body(self.embedding(words))))


class TiedLayer(nn.Module):
    """One layer under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.second = self.first

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.tanh(self.first(x)))


class TransposedTie(nn.Module):
    """An autoencoder whose decoder is its encoder's weight, transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(6, 3)
        self.bias = nn.Parameter(torch.zeros(6))

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.encoder(x)) @ self.encoder.weight + self.bias


class Twice(nn.Module):
    """One parameter in two operations of different kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6))

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.weight).tanh() + self.weight.square()


class Unreached(nn.Module):
    """A layer that the loss never sees and a parameter without any use."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(6, 6)
        self.aside = nn.Linear(6, 2)
        self.unused = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.body(x)
        self.aside(hidden)
        return hidden.tanh()


class Detached(nn.Module):
    """A layer whose result is detached: it has a gradient of nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.aside, self.body = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x) * torch.sigmoid(self.aside(x)).detach()


class StraightThrough(nn.Module):
    """Rounded forward, as if it were not backward, and a layer in a region without gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.teacher = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.body(x)
        with torch.no_grad():
            taught = self.teacher(hidden).tanh()
        return hidden + (torch.round(hidden * 4.0) / 4.0 - hidden).detach() + taught * hidden


class Parts(nn.Module):
    """Views and slices of one parameter, as in a fused projection."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(12, 6) * 0.3)

    def forward(self, x: Tensor) -> Tensor:
        first, second = self.weight.chunk(2)
        return functional.linear(functional.linear(x, first).tanh(), second.t()[:, :4].t())


class Computed(nn.Module):
    """A weight that is computed from parameters: a low-rank adapter of a frozen layer."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(6, 5).requires_grad_(False)
        self.down = nn.Parameter(torch.randn(2, 6) * 0.3)
        self.up = nn.Parameter(torch.randn(5, 2) * 0.3)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.base.weight + self.up @ self.down, self.base.bias)


class Constants(nn.Module):
    """Constants of all kinds: in the code, as a buffer, as one that no file keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.register_buffer("kept", torch.linspace(0.5, 1.5, 6))
        self.register_buffer("dropped", torch.linspace(-1.0, 1.0, 6), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        table = torch.tensor([1.0, -1.0, 2.0, -2.0, 3.0, -3.0])
        return self.layer(x * self.kept + self.dropped).tanh() * table + 0.5


class OnlyParameters(nn.Module):
    """Part of the graph depends on no input."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(6))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.softmax(self.scale.exp().log1p(), dim=0)


class Scalar(nn.Module):
    """Parameters of rank zero and of size one."""

    def __init__(self) -> None:
        super().__init__()
        self.temperature = nn.Parameter(torch.tensor(0.7))
        self.shift = nn.Parameter(torch.tensor([0.2]))

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x * self.temperature.exp() + self.shift * x.square(), dim=-1)


def frozen_first() -> nn.Module:
    """The first of two layers is frozen."""
    first = nn.Linear(6, 5).requires_grad_(False)
    return nn.Sequential(first, nn.ELU(), nn.Linear(5, 3))


def frozen_last() -> nn.Module:
    """The gradient passes through a frozen layer."""
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3).requires_grad_(False))


def constants_as_nodes(model: onnx.ModelProto) -> None:
    """Store as nodes what is neither parameter nor buffer, as many exporters do."""
    graph = model.graph
    constants = [value for value in graph.initializer if not value.name.startswith("module.")]
    for value in constants:
        graph.initializer.remove(value)
        graph.node.insert(0, helper.make_node("Constant", [], [value.name], value=value))


class FakeQuantized(nn.Module):
    """Activations and weights as quantization-aware training computes them, some out of range."""

    scale: Tensor
    zero: Tensor
    scales: Tensor
    zeros: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 4), nn.Linear(4, 3)
        self.register_buffer("scale", torch.tensor([0.07]))
        self.register_buffer("zero", torch.tensor([3], dtype=torch.int32))
        self.register_buffer("scales", torch.tensor([0.02, 0.05, 0.03]))
        self.register_buffer("zeros", torch.tensor([0, 1, 2], dtype=torch.int32))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.fake_quantize_per_tensor_affine(self.first(x), 0.05, 2, -20, 17)
        x = torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero, 0, 15)
        weight = torch.fake_quantize_per_channel_affine(
            self.last.weight, self.scales, self.zeros, 0, -12, 11
        )
        return functional.linear(x, weight, self.last.bias)


def from_half(dtype: torch.dtype) -> nn.Module:
    """Weights that were kept in half the bytes; `load_model` trains them in float32."""
    module = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3)).to(dtype)
    train_in_float32(module)
    return module


ROW = normal((6,))

CASES: tuple[Case, ...] = (
    whole("weight tied, embedding and head", (Tied, integers(7, (4,)))),
    whole("weight tied, one layer twice", (TiedLayer, ROW)),
    whole("weight tied, transposed", (TransposedTie, ROW)),
    whole("parameter used twice", (Twice, ROW)),
    whole("parameter not reached by the loss", (Unreached, ROW)),
    whole("parameter behind detach", (Detached, ROW)),
    whole("straight through, no_grad", (StraightThrough, ROW)),
    whole("parts of one parameter", (Parts, ROW)),
    whole("weight computed from parameters", (Computed, ROW)),
    whole("computed from parameters alone", (OnlyParameters, ROW)),
    whole("parameters of rank zero and size one", (Scalar, ROW)),
    whole("constants and buffers", (Constants, ROW)),
    whole("constants as nodes", (Constants, ROW, constants_as_nodes)),
    whole("weights of float16", (layer(from_half, torch.float16), ROW)),
    whole("weights of bfloat16", (layer(from_half, torch.bfloat16), ROW)),
    whole("fake quantization", (FakeQuantized, ROW)),
    whole("frozen first layer", (frozen_first, ROW)),
    whole("frozen last layer", (frozen_last, ROW)),
)

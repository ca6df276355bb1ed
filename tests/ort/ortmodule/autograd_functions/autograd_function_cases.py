"""Custom autograd functions of every style, and modules that train through them.

Each backward differs from the gradient of what its forward computes, so that it tells whether it
was called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from tests.ort.ortmodule.cases import Call, Case, of_floats
from tests.representative import representative


class Rounded(Function):
    """A straight-through estimator: a step forward, the identity backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, steps: int = 8) -> Tensor:
        return torch.round(x * steps) / steps

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


rounded = Rounded.apply


class Scaled(Function):
    """Saved tensors, attributes of ctx, a float, a string, None and a flag; half the gradient."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, factor: float, kind: str
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.factor, ctx.has_bias = factor, bias is not None
        made = x * weight * factor if kind == "mul" else x / weight * factor
        return made if bias is None else made + bias

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x = gradient * weight * ctx.factor * 0.5 if ctx.needs_input_grad[0] else None
        of_weight = (gradient * x * ctx.factor * 0.5).sum(0) if ctx.needs_input_grad[1] else None
        return of_x, of_weight, gradient.sum(0) if ctx.has_bias else None, None, None


class Chosen(Function):
    """Truth values in and out."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
        assert chosen.dtype is torch.bool
        ctx.save_for_backward(chosen)
        return x * chosen, ~chosen

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: None) -> tuple[Tensor, None]:
        (chosen,) = ctx.saved_tensors
        return gradient * torch.where(chosen, 0.5, -0.5), None


class Halves(Function):
    """Several results, one of them None, one without a gradient, one of integers."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor, None, Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        left, right = x.tanh().chunk(2, -1)
        mask = (x > 0).float()
        ctx.mark_non_differentiable(mask)
        return left.clone(), right.clone(), None, mask, x.argmax(-1)

    @staticmethod
    def backward(ctx: Any, left: Tensor | None, right: Tensor | None, *_: Any) -> Tensor:
        given = [each for each in (left, right) if each is not None]
        assert given
        parts = [torch.zeros_like(given[0]) if each is None else each for each in (left, right)]
        return torch.cat(parts, -1) * 0.3


class Separate(Function):
    """The style with setup_context, with a default argument and a tensor in a list."""

    @staticmethod
    def forward(x: Tensor, others: list[Tensor], power: float = 2.0) -> tuple[Tensor, Tensor]:
        return x.tanh().abs() ** power + others[0].mean(), x.sign()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, _, ctx.power = inputs
        ctx.save_for_backward(x)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        return gradient * x.tanh() * ctx.power * 0.2, None, None


class Once(Function):
    """once_differentiable; its forward calls another function, and is inherited below."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return Rounded.apply(x, 4) * 2

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * 0.3


class Reversed(Once):
    """The forward of another class and a backward of its own."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * -0.1


class Softened(Function):
    """No step in it that rounding might cross."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.sigmoid(x) * x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * 0.4


class Nearest(Function):
    """Vector quantization: rows of a table by their distance; sizes and a torch.Size besides."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, table: Tensor, size: torch.Size, rows: int
    ) -> tuple[Tensor, Tensor]:
        assert x.shape == size
        assert x.shape[0] == rows
        codes = torch.cdist(x, table).argmin(-1)
        ctx.save_for_backward(codes, table)
        return table[codes], codes

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: None) -> tuple[Tensor | None, ...]:
        codes, table = ctx.saved_tensors
        of_table = torch.zeros_like(table).index_add_(0, codes, gradient * 0.25)
        return gradient, of_table, None, None


class Straight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.last(torch.relu(rounded(self.norm(self.first(x)))))
        return y


class WithSaved(nn.Module):
    """Functions that take parameters themselves, and booleans that cross to both sides."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 6), nn.Linear(6, 3)
        self.weight, self.bias = nn.Parameter(torch.rand(6) + 1), nn.Parameter(torch.rand(6))
        self.register_buffer("constant", torch.rand(3) + 1)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        positive = hidden > 0
        y = Scaled.apply(hidden, self.weight, self.bias, 1.5, "mul")
        y, negative = Chosen.apply(torch.where(positive, y, y + 1), positive)
        y = torch.where(negative & ~positive, y * 2, y)
        z: Tensor = Scaled.apply(self.last(y.tanh()), self.constant, None, 0.5, "div")
        return z * self.constant


class SeveralResults(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(4, 3)
        self.table = nn.Embedding(8, 3)

    def forward(self, x: Tensor) -> dict[str, Any]:
        left, right, nothing, mask, places = Halves.apply(self.first(x))
        assert nothing is None
        unused = Halves.apply(right)[1]
        y = self.last(left) + self.table(places) * mask[:, :3] + unused.sum()
        return {"y": y, "right": right, "mask": mask, "places": places}


class TwoStyles(nn.Module):
    """One function twice on one level and once more behind it, and one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.other, self.last = nn.Linear(4, 6), nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        one, two = self.first(x), self.other(x)
        a, sign = Separate.apply(one, [two, x])
        b, _ = Separate.apply(two, [one], 3.0)
        c = Once.apply(Reversed.apply(self.last(a * sign + b)))
        return c, Separate.apply(c, [x])[0]


class AtTheEdges(nn.Module):
    """Functions that take arguments of the module and give its results, and shared layers."""

    def __init__(self) -> None:
        super().__init__()
        self.shared, self.norm, self.scale = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)
        self.register_buffer("calls", torch.zeros(4))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        before = self.calls * 1.0
        self.calls += 0.02
        y = self.norm(self.shared(Rounded.apply(x, 16)))
        z = self.norm(self.shared(Once.apply(y)) + before + self.calls)
        return Reversed.apply(z), z, Rounded.apply(x), self.scale(x), self.calls * 2


class Quantized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(4, 3), nn.Linear(3, 4)
        self.codebook = nn.Parameter(torch.randn(7, 3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.into(x)
        found, codes = Nearest.apply(hidden, self.codebook, hidden.shape, x.shape[0])
        return self.out(found) + x.reshape(found.shape[0], -1), codes


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(2))
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norms[0](x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        hidden = torch.nn.functional.gelu(self.up(self.norms[1](x)))
        z: Tensor = x + self.down(Scaled.apply(hidden, self.up.bias.exp(), None, 0.5, "mul"))
        return z


class Transformer(nn.Module):
    """Two blocks, their activations scaled by a function, and tokens embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(16, 11)

    def forward(self, tokens: Tensor) -> Tensor:
        y: Tensor = self.head(self.blocks(self.embedding(tokens)))
        return y


class Convolutional(nn.Module):
    """Frozen layers before the function, whose statistics run on, and Conv behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)).requires_grad_(False)
        self.conv = nn.Conv2d(4, 5, 3)
        self.head = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.conv(Softened.apply(self.frozen(x))))
        z: Tensor = self.head(Softened.apply(y.mean((2, 3))))
        return z


def tokens(batch: int) -> Call:
    return Call((torch.randint(0, 11, (batch, 5)),))


def case(build: Callable[[], nn.Module], *shape: int) -> Case:
    return of_floats(build, *(shape or (4,)))


FUNCTION_CASES: dict[str, Case] = {
    "straight-through": case(Straight),
    "saved": case(WithSaved),
    "several-results": case(SeveralResults),
    "both-styles": case(TwoStyles),
    "edges": case(AtTheEdges),
    "sizes": case(Quantized),
    "transformer": Case(Transformer, tokens),
    "convolutional": case(Convolutional, 1, 8, 8),
}
USUAL = representative(
    FUNCTION_CASES, every=8, always=("edges", "sizes", "transformer", "convolutional")
)

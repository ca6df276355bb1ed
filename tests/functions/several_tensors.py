"""Custom autograd functions that take or return several tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional


class TwoResults(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx: Any, product: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        return product * y + 2 * total, product * x + 3 * total


class AnyNumber(Function):
    """Takes and returns as many tensors as it is given."""

    @staticmethod
    def forward(ctx: Any, *given: Tensor) -> tuple[Tensor, ...]:
        return tuple(x * 2 for x in given)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        return tuple(gradient * 3 for gradient in gradients)


class Largest(Function):
    """Returns places, which have no gradient, beside values."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        value, place = x.max(-1, keepdim=True)
        ctx.save_for_backward(place)
        ctx.mark_non_differentiable(place)
        ctx.shape = x.shape
        return value, place

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Any) -> Tensor:
        (place,) = ctx.saved_tensors
        return torch.zeros(ctx.shape).scatter(-1, place, gradient)


class Unmaterialized(Function):
    """Is given None for the gradient of a result that has none."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        sign = x.sign()
        ctx.mark_non_differentiable(sign)
        return x * 2, sign

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, nothing: Tensor | None) -> Tensor:
        return gradient * (5 if nothing is None else 7)


class SetUpTwo(Function):
    """The same, with a result that has no gradient."""

    @staticmethod
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        return x.relu(), (x > 0).float()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> Tensor:
        (open_at,) = ctx.saved_tensors
        return gradient * (open_at + 0.1)


class Product(Function):
    """Computes the gradients that are needed."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        left = gradient @ weight.t() if ctx.needs_input_grad[0] else None
        right = x.t() @ gradient if ctx.needs_input_grad[1] else None
        return left, right


class Linear(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        ctx.save_for_backward(x, weight, bias)
        return functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        x, weight, bias = ctx.saved_tensors
        summed = None if bias is None else gradient.sum(0)
        return gradient @ weight, gradient.t() @ x, summed


class Broadcast(Function):
    """Leaves it to autograd to sum the gradient of what was broadcast."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        return x + bias

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        return gradient, gradient


class Chosen(Function):
    """Takes integers."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.shape = x.shape
        return x.gather(1, places)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (places,) = ctx.saved_tensors
        return torch.zeros(ctx.shape).scatter_add(1, places, gradient), None


class Scaled(Function):
    """Its second argument is a tensor that has no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, by: Tensor) -> Tensor:
        ctx.save_for_backward(by)
        return x * by

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (by,) = ctx.saved_tensors
        return gradient * by, None


class WeightOnly(Function):
    """A gradient of the weight that ignores the weight's part in the result."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return x * weight.detach()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        return gradient * weight, (gradient * x).sum(0) + 0 * weight


class Times(Function):
    """Gradients that tell its arguments apart."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        return gradient * y * 2, gradient * x * 3


class Logarithm(Function):
    """Its second result is -inf wherever its argument is negative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        return x * 2, x.relu().log()

    @staticmethod
    def backward(ctx: Any, double: Tensor, logarithm: Tensor) -> Tensor:
        return double * 2 + logarithm


class NoneForUnused(Function):
    """Counts on None for the gradient of a result that is not used."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, double: Tensor, triple: Tensor | None) -> Tensor:
        return double * 2 if triple is None else double * 2 + triple + 100

"""Custom autograd functions of one tensor, as people write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional


class StraightThrough(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


class Sigmoid(Function):
    """Saves its argument, and computes the rest again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * torch.sigmoid(1.7 * x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        slope = torch.sigmoid(1.7 * x)
        return gradient * (slope + 1.7 * x * slope * (1 - slope))


class ClippedGradient(Function):
    """Not linear in its gradient; takes a number."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bound: float) -> Tensor:
        ctx.bound = bound
        return x * 1

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient.clamp(-ctx.bound, ctx.bound), None


class Reversed(Function):
    """A gradient reversal layer, which gives its argument back as a view."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient.neg() * ctx.strength, None


class GivenBack(Function):
    """Returns its argument itself."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * 2


class SetUp(Function):
    """Has its context set up apart, from its result too."""

    @staticmethod
    def forward(x: Tensor, scale: float) -> Tensor:
        return x * scale

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.scale = inputs[1]
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (output,) = ctx.saved_tensors
        return gradient * ctx.scale * output, None


class Once(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return functional.relu(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return gradient * (x > -0.5)


class Leaky(Function):
    """Saves a mask; takes two numbers."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, low: float, high: float) -> Tensor:
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (within,) = ctx.saved_tensors
        return torch.where(within, gradient, gradient * 0.1), None, None


class Normalized(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        scale = (x.var(-1, keepdim=True, unbiased=False) + 1e-5).rsqrt()
        made = (x - x.mean(-1, keepdim=True)) * scale
        ctx.save_for_backward(made, scale)
        return made

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        made, scale = ctx.saved_tensors
        centred = gradient - gradient.mean(-1, keepdim=True)
        return scale * (centred - made * (gradient * made).mean(-1, keepdim=True))


class Attributes(Function):
    """Keeps a tensor and the size of the batch as attributes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.result = x.tanh()
        ctx.rows = x.shape[0]
        return ctx.result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * (1 - ctx.result**2) * ctx.rows


class Default(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float = 2.0) -> Tensor:
        ctx.scale = scale
        return x * scale

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * ctx.scale * 1.5, None


class Sine(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return gradient * x.cos() * 2


class Nested(Function):
    """Calls another function in its backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.relu()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return Sigmoid.apply(gradient)


class InNumpy(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return torch.from_numpy(1 - np.tanh(x.detach().numpy()) ** 2) * gradient


class Recomputed(Function):
    """Asks autograd for its gradient, as checkpoints do."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.exp().log1p()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            again = x.detach().requires_grad_()
            made = again.exp().log1p()
        (result,) = torch.autograd.grad(made, again, gradient)
        return result


class ByValues(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient if gradient.sum() > 0 else gradient * 2


class SavedResult(Function):
    """Its backward writes to the result that its forward saved."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        y.mul_(1 - y)
        return gradient * y


class SavedArgument(Function):
    """Its backward writes to the argument that its forward saved, of which its result is a view."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        x.sign_().clamp_(min=0.25)
        return gradient * x


class GradientWrittenTo(Function):
    """Its backward writes to the gradient that it is given, which its caller may share."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient.mul_(3) * -0.5

"""Custom autograd functions as people write them, each with the way that it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
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


class Broadcast(Function):
    """Leaves it to autograd to sum the gradient of what was broadcast."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        return x + bias

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        return gradient, gradient


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


class Chosen(Function):
    """Takes whole numbers."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.shape = x.shape
        return x.gather(1, places)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (places,) = ctx.saved_tensors
        return torch.zeros(ctx.shape).scatter_add(1, places, gradient), None


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


class Nested(Function):
    """Calls another function in its backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.relu()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return Sigmoid.apply(gradient)


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


class Program(NamedTuple):
    """A call, between two layers."""

    call: Callable[..., Tensor]
    """Takes the rows, (batch, 6), and the parameters."""
    parameters: tuple[tuple[int, ...], ...] = ()
    """Shapes of parameters that the function takes itself."""


PROGRAMS: dict[str, Program] = {
    "straight through": Program(StraightThrough.apply),
    "saved argument": Program(Sigmoid.apply),
    "clipped gradient": Program(lambda x: ClippedGradient.apply(x, 0.001)),
    "gradient reversal": Program(lambda x: Reversed.apply(x, 0.3)),
    "argument given back": Program(GivenBack.apply),
    "two results": Program(lambda x: sum(TwoResults.apply(x, x.sin()))),
    "two results, the first used": Program(lambda x: TwoResults.apply(x, x.sin())[0]),
    "two results, the second used": Program(lambda x: TwoResults.apply(x, x.sin())[1]),
    "any number of tensors": Program(lambda x: sum(AnyNumber.apply(x, x.sin(), x.cos()))),
    "values and places": Program(lambda x: Largest.apply(x)[0] * x),
    "gradients not materialized": Program(lambda x: sum(Unmaterialized.apply(x))),
    "context set up apart": Program(lambda x: SetUp.apply(x, 3.0)),
    "context set up apart, two results": Program(lambda x: SetUpTwo.apply(x)[0]),
    "needs_input_grad": Program(Product.apply, ((6, 6),)),
    "needs_input_grad, one": Program(lambda x: Product.apply(x, torch.eye(6) * 2)),
    "linear": Program(Linear.apply, ((6, 6), (6,))),
    "linear without bias": Program(Linear.apply, ((6, 6),)),
    "once_differentiable": Program(Once.apply),
    "broadcast": Program(Broadcast.apply, ((6,),)),
    "mask and numbers": Program(lambda x: Leaky.apply(x, -0.5, 0.5)),
    "normalization": Program(Normalized.apply),
    "attributes": Program(Attributes.apply),
    "whole numbers": Program(
        lambda x: x + Chosen.apply(x, x.argsort(-1)[:, :4]).sum(-1, keepdim=True)
    ),
    "default argument": Program(Default.apply),
    "twice, one within the other": Program(lambda x: Sine.apply(Sine.apply(x) * 2) + x),
    "twice, side by side": Program(lambda x: Sine.apply(x) + Sine.apply(x * 2)),
    "argument without a gradient": Program(lambda x: Scaled.apply(x, x.detach().cos())),
    "function in backward": Program(Nested.apply),
    "gradient of the weight alone": Program(WeightOnly.apply, ((6,),)),
    "one tensor as two arguments": Program(lambda x: Times.apply(x, x)),
    "without a gradient": Program(lambda x: x + Sine.apply(x).detach()),
}
REFUSED: dict[str, Program] = {
    "numpy": Program(InNumpy.apply),
    "autograd in backward": Program(Recomputed.apply),
    "branch on values": Program(ByValues.apply),
}
"""Those that only ORTModule trains, which calls the function."""


class Model(nn.Module):
    """A program between two layers."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.first, self.last, self.program = nn.Linear(6, 6), nn.Linear(6, 4), program
        self.given = nn.ParameterList(torch.randn(shape) for shape in program.parameters)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.program.call(self.first(x), *self.given))

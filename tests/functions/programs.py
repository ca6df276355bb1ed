"""Calls of custom autograd functions, each between two layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tests.functions.one_tensor import (
    Attributes,
    ByValues,
    ClippedGradient,
    Default,
    GivenBack,
    GradientWrittenTo,
    InNumpy,
    Leaky,
    Nested,
    Normalized,
    Once,
    Recomputed,
    Reversed,
    SavedArgument,
    SavedResult,
    SetUp,
    Sigmoid,
    Sine,
    StraightThrough,
)
from tests.functions.several_tensors import (
    AnyNumber,
    Broadcast,
    Chosen,
    Largest,
    Linear,
    Logarithm,
    NoneForUnused,
    Product,
    Scaled,
    SetUpTwo,
    Times,
    TwoResults,
    Unmaterialized,
    WeightOnly,
)


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
    "integers": Program(lambda x: x + Chosen.apply(x, x.argsort(-1)[:, :4]).sum(-1, keepdim=True)),
    "default argument": Program(Default.apply),
    "twice, one within the other": Program(lambda x: Sine.apply(Sine.apply(x) * 2) + x),
    "twice, side by side": Program(lambda x: Sine.apply(x) + Sine.apply(x * 2)),
    "argument without a gradient": Program(lambda x: Scaled.apply(x, x.detach().cos())),
    "function in backward": Program(Nested.apply),
    "gradient of the weight alone": Program(WeightOnly.apply, ((6,),)),
    "one tensor as two arguments": Program(lambda x: Times.apply(x, x)),
    "saved result written to": Program(SavedResult.apply),
    "saved result written to, read after": Program(lambda x: SavedResult.apply(x) * x),
    "saved argument written to": Program(SavedArgument.apply),
    "unused result of -inf": Program(lambda x: Logarithm.apply(x)[0]),
    "without a gradient": Program(lambda x: x + Sine.apply(x).detach()),
}
REFUSED: dict[str, Program] = {
    "numpy": Program(InNumpy.apply),
    "autograd in backward": Program(Recomputed.apply),
    "branch on values": Program(ByValues.apply),
    "gradient written to": Program(GradientWrittenTo.apply),
}
"""Those that only ORTModule trains, which calls the function."""

NOT_MATERIALIZED = Program(lambda x: NoneForUnused.apply(x)[0])
"""Refused too, but trained where every result is used."""


class Model(nn.Module):
    """A program between two layers."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.first, self.last, self.program = nn.Linear(6, 6), nn.Linear(6, 4), program
        self.given = nn.ParameterList(torch.randn(shape) for shape in program.parameters)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.program.call(self.first(x), *self.given))

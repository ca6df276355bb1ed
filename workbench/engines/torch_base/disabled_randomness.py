"""Replaces PyTorch's random draws by constants, so that two engines compute the same."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn


@contextmanager
def disable_randomness() -> Iterator[None]:
    """Context in which PyTorch draws constants: Dropout is off, however it is called.

    The constants are those of `workbench.trainable.without_randomness`. They replace the
    random operator's result where it is dispatched, so nothing of the module or of torch is
    changed: Dropout keeps an element with a probability of 1 - p and divides by that, and where
    the draw is the probability itself, what is left is 1. Integers and permutations (randint,
    multinomial, randperm) are still drawn, by the seed.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class DisabledRandomness(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            if torch.Tag.nondeterministic_seeded in func.tags:
                constant = _CONSTANTS.get(func.overloadpacket.__name__.rstrip("_"))
                if constant is not None:
                    constant(result, func, args)
            return result

    with DisabledRandomness():  # type: ignore[no-untyped-call]
        yield


def disable_dropout(module: nn.Module) -> None:
    """Give every Dropout of torch.nn in `module` the probability 0, in place."""
    from torch import nn
    from torch.nn.modules.dropout import _DropoutNd

    for layer in module.modules():
        if isinstance(layer, _DropoutNd):
            layer.p = 0.0
        elif isinstance(layer, nn.RNNBase | nn.MultiheadAttention):
            layer.dropout = 0.0


def _bernoulli(result: Any, func: Any, args: Any) -> None:
    if func._overloadname == "default":
        result.copy_(args[0])
        return
    probability = args[1] if len(args) > 1 else 0.5
    (result.fill_ if isinstance(probability, float | int) else result.copy_)(probability)


def _uniform(result: Any, _: Any, args: Any) -> None:
    low, high = _completed(args[1:3])
    result.fill_((low + high) / 2)


def _normal(result: Any, func: Any, args: Any) -> None:
    # `normal_` has the tensor itself before mean and deviation, `normal` has not.
    in_place = func.overloadpacket.__name__ == "normal_"
    mean, deviation = _completed(args[1:3] if in_place else args[:2])
    value = mean + deviation / 2
    (result.fill_ if isinstance(value, float | int) else result.copy_)(value)


def _exponential(result: Any, _: Any, args: Any) -> None:
    # The median, which is what ONNX computes from the middle of a uniform draw.
    result.fill_(math.log(2) / (args[1] if len(args) > 1 else 1.0))


def _completed(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The two arguments of a draw, with defaults 0 and 1."""
    return (given + (0.0, 1.0)[len(given) :])[:2]


def _rrelu(result: Any, func: Any, args: Any) -> None:
    low, high, training = (args[2:5] + _RRELU_DEFAULTS[len(args[2:5]) :])[:3]
    if not training:
        return  # it has drawn nothing
    noise = args[1]
    given = result / noise if func.overloadpacket.__name__.endswith("_") else args[0]
    noise.copy_((given <= 0) * ((low + high) / 2 - 1) + 1)
    result.copy_(given * noise)


_RRELU_DEFAULTS = (1 / 8, 1 / 3, False)
"""Defaults of the slope's bounds, and of `training`."""


def _half(result: Any, _: Any, __: Any) -> None:
    result.fill_(0.5)


_CONSTANTS = {
    "bernoulli": _bernoulli,
    "uniform": _uniform,
    "normal": _normal,
    "exponential": _exponential,
    "rand": _half,
    "rand_like": _half,
    "randn": _half,
    "randn_like": _half,
    "rrelu_with_noise": _rrelu,
}
"""Kernel -> the function that writes the constant into its result."""

"""One call of a custom autograd function, which can be repeated with other tensors."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import EngineError, UntrainableError

if TYPE_CHECKING:
    import torch


class TensorPlace(NamedTuple):
    """Placeholder of the next tensor."""


class SizePlace(NamedTuple):
    """Placeholder of the next size: an integer that was computed from shapes."""


class Nested(NamedTuple):
    """A container with tensors or sizes in it."""

    build: Callable[[Sequence[Any]], Any]
    items: tuple[Any, ...]


class FunctionCall(NamedTuple):
    """The function of a call, and its arguments besides tensors."""

    function: type[torch.autograd.Function]
    arguments: Any
    """A tuple with places for its tensors and sizes; other values are those of the traced call."""
    tensor_count: int
    """Number of tensors it takes; its sizes follow, also as tensors."""
    results: Any
    """The return value, with placeholders for the tensors."""
    detached: bool = False
    """Whether gradients were turned off around the call."""

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The tensors that the function returns, as part of autograd's graph.

        Args:
            inputs: its tensors, then its sizes as scalars of int64.

        Raises:
            EngineError: its result is nested differently from the traced call.
        """
        import torch

        tensors = iter(inputs[: self.tensor_count])
        sizes = iter([int(size) for size in inputs[self.tensor_count :]])
        apply: Any = self.function.apply
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.detached):
            results = apply(*unflatten(self.arguments, tensors, sizes))
        found: list[torch.Tensor] = []
        places = flatten(results, found, [])
        if count(places) != count(self.results):
            raise EngineError(
                f"{function_name(self.function)} returned {count(places)} tensors, but "
                f"{count(self.results)} when its module was exported. Let it return as many in "
                "every call."
            )
        return found

    def results_around(self, tensors: Sequence[torch.Tensor]) -> Any:
        """The return value of the traced call, with these tensors in it."""
        return unflatten(self.results, iter(tensors), iter(()))


def function_applied() -> type[torch.autograd.Function] | None:
    """The autograd function whose `apply` is calling."""
    import torch

    apply: Any = torch.autograd.Function.apply
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not apply.__func__.__code__:
        frame = frame.f_back
    return None if frame is None else frame.f_locals["cls"]


def function_name(function: type) -> str:
    """Module and name of the class."""
    return f"{function.__module__}.{function.__qualname__}"


def flatten(value: Any, tensors: list[torch.Tensor], sizes: list[Any]) -> Any:
    """`value` with places for its tensors and sizes, which are appended from left to right.

    Lists, tuples and dicts are traversed. One without either is returned unchanged.

    Raises:
        UntrainableError: something else holds a tensor that exists only while a module is traced,
            or a number was computed from the values of one.
    """
    import torch

    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return TensorPlace()
    if isinstance(value, torch.SymInt):
        sizes.append(value)
        return SizePlace()
    if isinstance(value, (torch.SymFloat, torch.SymBool)):
        raise UntrainableError(
            f"it takes a {type(value).__name__.removeprefix('Sym').lower()} that was computed from "
            "sizes. Compute it in the function's forward, from the shapes of its tensors."
        )
    items, build = _opened(value)
    parts = tuple([flatten(item, tensors, sizes) for item in items])
    if any(part is not item for part, item in zip(parts, items, strict=True)):
        return Nested(build, parts)
    _refuse_hidden_tensors(value)
    return value


def unflatten(value: Any, tensors: Iterator[torch.Tensor], sizes: Iterator[int]) -> Any:
    """The inverse of `flatten`, with the next tensors and sizes."""
    if isinstance(value, TensorPlace):
        return next(tensors)
    if isinstance(value, SizePlace):
        return next(sizes)
    if isinstance(value, Nested):
        return value.build([unflatten(item, tensors, sizes) for item in value.items])
    return value


def count(value: Any) -> int:
    """Number of placeholders for tensors."""
    if isinstance(value, Nested):
        return sum(map(count, value.items))
    return int(isinstance(value, TensorPlace))


def _opened(value: Any) -> tuple[Sequence[Any], Callable[[Sequence[Any]], Any]]:
    """Items of a container, and a function that builds a container of its type."""
    kind = type(value)
    if isinstance(value, dict):
        keys = list(value)
        return list(value.values()), lambda items: kind(zip(keys, items, strict=True))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value, lambda items: kind(*items)
    return (value, kind) if isinstance(value, list | tuple) else ((), kind)


def _refuse_hidden_tensors(value: Any) -> None:
    import torch
    from torch._subclasses import FakeTensor

    if isinstance(value, torch.nn.Module):
        return
    held = [*vars(value).values()] if hasattr(value, "__dict__") else []
    if inspect.isfunction(value):
        held += inspect.getclosurevars(value).nonlocals.values()
    if any(isinstance(each, FakeTensor) for each in held):
        raise UntrainableError(
            f"its argument {value!r} holds a tensor that the forward pass computed. Give the "
            "function that tensor as an argument of its own."
        )

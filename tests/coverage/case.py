"""A layer or operation under test, between parameters before it and after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import onnx
import torch
from torch import Tensor, nn

Operation = Callable[..., Tensor]
"""A module or a function from tensors to the one that the loss is taken of, batch on axis 0."""

Sample = Callable[[int, torch.Generator], tuple[Tensor, ...]]
"""Makes the inputs of one batch: of that many rows, from that source of randomness."""


Edit = Callable[[onnx.ModelProto], None]
"""Changes an exported graph, in place, into an equal one that other exporters would write."""


class Variant(NamedTuple):
    """One module and what goes in."""

    build: Callable[[], nn.Module]
    """The same module after the same `torch.manual_seed`; it is in the modes that it trains in."""
    sample: Sample
    edit: Edit | None = None
    axes: Mapping[int, str] = MappingProxyType({})
    """Axes of every input that have any size, beside the batch."""
    draws: bool = False
    """It draws; PyTorch and the graph are given the same constants in place of draws."""


class Case(NamedTuple):
    """One line of the table of what trains."""

    name: str
    variants: tuple[Variant, ...]
    """The first is tested everywhere, the others, of other shapes, in the sweep."""
    refusals: Mapping[str, str] = MappingProxyType({})
    """Engine that cannot -> what its error says."""


class Through(nn.Module):
    """op(x * scale + shift) * head: the gradient of scale and shift passes through `op`.

    Args:
        make: makes the operation.
        shapes: of one row of each input that is a float; integers are passed on as they are.
    """

    def __init__(self, make: Callable[[], Operation], sample: Sample) -> None:
        super().__init__()
        self.op = make()
        rows = sample(2, torch.Generator().manual_seed(0))
        self.scales, self.shifts = nn.ParameterList(), nn.ParameterList()
        for row in rows:
            if row.is_floating_point():
                self.scales.append(torch.rand(row.shape[1:]) * 0.4 + 0.8)
                self.shifts.append(torch.rand(row.shape[1:]) * 0.2 - 0.1)
        with torch.no_grad():
            result = self._op(*rows)
        self.head = nn.Parameter(torch.rand(result.shape[1:]) + 0.5)

    def forward(self, *inputs: Tensor) -> Tensor:
        return self._op(*inputs) * self.head

    def _op(self, *inputs: Tensor) -> Tensor:
        moved, place = [], 0
        for value in inputs:
            if value.is_floating_point():
                moved.append(value * self.scales[place] + self.shifts[place])
                place += 1
            else:
                moved.append(value)
        return self.op(*moved)


class Exactly(nn.Module):
    """op(x + shift) with a shift of zero: exact numbers reach `op`, such as ties and corners."""

    def __init__(self, make: Callable[[], Operation], sample: Sample) -> None:
        super().__init__()
        self.op = make()
        rows = sample(2, torch.Generator().manual_seed(0))
        self.shifts = nn.ParameterList(torch.zeros(row.shape[1:]) for row in rows)

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.op(*(x + shift for x, shift in zip(inputs, self.shifts, strict=True)))


def normal(*shapes: Sequence[int], spread: float = 1.5) -> Sample:
    """Inputs of these row shapes around zero."""

    def sample(rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        return tuple(torch.randn((rows, *shape), generator=generator) * spread for shape in shapes)

    return sample


def uniform(low: float, high: float, *shapes: Sequence[int]) -> Sample:
    """Inputs of these row shapes between two numbers."""

    def sample(rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        return tuple(
            torch.rand((rows, *shape), generator=generator) * (high - low) + low for shape in shapes
        )

    return sample


def integers(count: int, *shapes: Sequence[int]) -> Sample:
    """Inputs of these row shapes from 0 to `count` - 1."""

    def sample(rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        return tuple(torch.randint(count, (rows, *shape), generator=generator) for shape in shapes)

    return sample


def whole_numbers(low: int, high: int, *shapes: Sequence[int]) -> Sample:
    """Floats of these row shapes that are whole, both ends included."""

    def sample(rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        return tuple(
            torch.randint(low, high + 1, (rows, *shape), generator=generator).float()
            for shape in shapes
        )

    return sample


def together(*samples: Sample) -> Sample:
    """The inputs of all of these."""

    def sample(rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        return tuple(value for part in samples for value in part(rows, generator))

    return sample


def through(name: str, make: Callable[[], Operation], *samples: Sample, **rest: Any) -> Case:
    """A case with a variant for each kind of input, each around an operation made again."""
    variants = tuple(Variant(partial(Through, make, sample), sample) for sample in samples)
    return Case(name, variants, **rest)


def of(name: str, function: Operation, *samples: Sample, **rest: Any) -> Case:
    """The same, of a function."""
    return through(name, lambda: function, *samples, **rest)


def exactly(name: str, function: Operation, *samples: Sample, **rest: Any) -> Case:
    """A case of a function at the very numbers that are drawn."""
    variants = tuple(
        Variant(partial(Exactly, lambda: function, sample), sample) for sample in samples
    )
    return Case(name, variants, **rest)


def whole(name: str, *variants: tuple[Any, ...], **rest: Any) -> Case:
    """A case of modules that hold parameters enough of their own."""
    return Case(name, tuple(Variant(*variant) for variant in variants), **rest)

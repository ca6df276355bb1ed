"""Runs a module in PyTorch and reports its side effects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from workbench.export.effects.state_snapshot import StateSnapshot
from workbench.export.effects.written_tensors import WrittenTensors


class Effects(NamedTuple):
    """State changed by a forward pass, except for running statistics of normalization layers."""

    arguments: bool
    """Whether it wrote into an argument, changed its shape, or changed a list of arguments."""
    overwritten: bool
    """Whether it wrote into an argument."""
    parameters: tuple[str, ...]
    """Names of the parameters that it wrote or replaced."""
    written: tuple[str, ...]
    """Names of the buffers that it wrote in place."""
    replaced: tuple[str, ...]
    """Names of the buffers that are other tensors now, or of another shape."""
    state: tuple[str, ...]
    """Other changes, each as a phrase: "its attribute 'calls'"."""
    unregistered: tuple[str, ...]
    """Tensors of the module that get a gradient but are not its parameters."""


class Observation:
    """Context in which one forward pass of a module is run in PyTorch."""

    effects: Effects
    """Known after the block."""

    def __init__(self, module: nn.Module, arguments: Any) -> None:
        """Record the state before the block.

        Args:
            module: module that will be run.
            arguments: its arguments, in any nesting.
        """
        self._held = StateSnapshot(module, arguments)
        self._tensors = self._held.tensors
        self._unregistered = tuple(self._held.unregistered())
        self.computed = self._held.computed()
        """Tensors that the module holds and that were computed elsewhere, with a gradient."""
        self._writes = WrittenTensors(each.tensor for each in self._tensors)
        self._facts = [_facts(each.tensor) for each in self._tensors]
        self._aliases = [each.tensor.detach() for each in self._tensors]
        self._statistics = [(each, each.detach().clone()) for each in _statistics(module)]
        self._drawn = torch.get_rng_state()
        kept = {id(each) for each, _ in self._statistics}
        self._of_statistics = [id(each.tensor) in kept for each in self._tensors]

    def __enter__(self) -> Self:
        self._writes.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        self._writes.__exit__(*error)  # type: ignore[no-untyped-call]
        changes = [(each.kind, each.name) for each in self._held.changes()]
        written: list[str] = []
        for place, each in enumerate(self._tensors):
            if self._of_statistics[place]:
                continue
            other = _facts(each.tensor) != self._facts[place]
            if other or self._writes.reshaped(each.tensor):
                changes.append((each.kind, each.name))
            elif self._writes.wrote(each.tensor):
                if each.kind == "buffer":
                    written.append(each.name)
                else:
                    changes.append((each.kind, each.name))

        def of(kind: str) -> tuple[str, ...]:
            return tuple(dict.fromkeys(name for other, name in changes if other == kind))

        given = [each.tensor for each in self._tensors if each.kind == "argument"]
        self.effects = Effects(
            bool(of("argument")),
            any(map(self._writes.wrote, given)),
            of("parameter"),
            tuple(written),
            of("buffer"),
            of("state"),
            self._unregistered,
        )

    def restore(self) -> None:
        """Restore the state from before the block, the random generators included."""
        self._held.restore()
        for place, each in enumerate(self._tensors):
            if _facts(each.tensor) != self._facts[place]:
                each.tensor.data = self._aliases[place]
                if each.tensor.requires_grad != self._facts[place][-1]:
                    each.tensor.requires_grad_(self._facts[place][-1])
        self._writes.restore()
        self.restore_modelled()

    def restore_modelled(self) -> None:
        """Undo only the effects that a graph has too: writes to buffers, and random draws."""
        self._writes.restore()
        for tensor, before in self._statistics:
            tensor.data.copy_(before)
        torch.set_rng_state(self._drawn)


def _statistics(module: nn.Module) -> Iterator[torch.Tensor]:
    for each in module.modules():
        if isinstance(each, _NormBase):
            yield from (buffer for buffer in each._buffers.values() if buffer is not None)


def _facts(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Properties of a tensor, other than its values, that an operation may change."""
    hooks = tensor._backward_hooks
    stored: Iterable[Any] = ()
    if tensor.layout is torch.strided and not tensor.is_meta:
        stored = (tensor.stride(), tensor.data_ptr())
    return tensor.shape, tensor.dtype, *stored, len(hooks or ()), tensor.requires_grad

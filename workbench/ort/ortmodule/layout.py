"""What a module is made of, and whether that is still so."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

Slot = tuple[dict[str, torch.Tensor | None], str]
"""Where a parameter or buffer is kept: its owner's registry, and its name therein."""


class Layout:
    """The submodules, parameters and buffers that a module has, by name.

    The questions that every step asks are answered by comparing registries, in microseconds.
    """

    def __init__(self, module: nn.Module) -> None:
        self._modules: dict[str, nn.Module] = dict(module.named_modules())
        held = self._modules.values()
        self._children = [(each._modules, dict(each._modules)) for each in held if each._modules]
        self._registries = [each._parameters for each in held] + [each._buffers for each in held]
        self._count = sum(map(len, self._registries))
        self.parameters = {name: self._slot(name) for name, _ in module.named_parameters()}
        """Slot of each parameter; a tied one has the first of its names."""
        self.buffers = {name: self._slot(name) for name, _ in module.named_buffers()}
        """Slot of each buffer, persistent or not."""
        self._parameter_slots = list(self.parameters.values())

    def is_current(self) -> bool:
        """Whether no submodule was replaced and no parameter or buffer added or taken away."""
        for children, known in self._children:
            if children != known:
                return False
        return sum(map(len, self._registries)) == self._count

    def trained(self) -> tuple[bool, ...]:
        """For each parameter, in order, whether it requires a gradient."""
        return tuple([owner[name].requires_grad for owner, name in self._parameter_slots])  # type: ignore[union-attr]

    def first_in_evaluation(self) -> str | None:
        """Name of the first submodule that is in evaluation mode, None where all train."""
        for name, module in self._modules.items():
            if not module.training:
                return name
        return None

    def _slot(self, name: str) -> Slot:
        path, _, attribute = name.rpartition(".")
        owner = self._modules[path]
        registries: tuple[Any, Any] = (owner._parameters, owner._buffers)
        return registries[attribute not in owner._parameters], attribute

"""What a module is made of, and whether that is still so."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

Slot = tuple[dict[str, Any], str]
"""Where a parameter or buffer is kept: its owner's registry, and its name therein."""


class Layout:
    """The submodules, parameters and buffers that a module has, by name.

    Whether that is still so shows in the registries, without a walk through the module.
    """

    def __init__(self, module: nn.Module) -> None:
        self._names: dict[str, nn.Module] = dict(module.named_modules())
        self.modules = list(self._names.values())
        """The module and all in it."""
        self.children = [
            (each._modules, dict(each._modules)) for each in self.modules if each._modules
        ]
        """Each registry of submodules that is not empty, with what it held."""
        self.registries: list[dict[str, Any]] = [each._parameters for each in self.modules]
        self.registries += [each._buffers for each in self.modules]
        """Every registry of parameters or buffers."""
        self.count = sum(map(len, self.registries))
        """How many parameters and buffers they held."""
        self.parameters = {name: self._slot(name) for name, _ in module.named_parameters()}
        """Slot of each parameter; a tied one has the first of its names."""
        self.buffers = {name: self._slot(name) for name, _ in module.named_buffers()}
        """Slot of each buffer, persistent or not."""
        self.slots = [*self.parameters.values(), *self.buffers.values()]
        """Those of the parameters, then those of the buffers."""

    def is_current(self) -> bool:
        """Whether no submodule was replaced and no parameter or buffer added or taken away."""
        return (
            all(now == before for now, before in self.children)
            and all(registry.get(name) is not None for registry, name in self.slots)
            and sum(map(len, self.registries)) == self.count
        )

    def tensors(self) -> list[torch.Tensor]:
        """What lies in `slots` now."""
        return [registry[name] for registry, name in self.slots]

    def trained(self) -> tuple[bool, ...]:
        """For each parameter, in order, whether it requires a gradient."""
        return tuple([owner[name].requires_grad for owner, name in self.parameters.values()])

    def modes(self) -> tuple[bool, ...]:
        """For each of `modules` whether it is in training mode."""
        return tuple([module.training for module in self.modules])

    def _slot(self, name: str) -> Slot:
        path, _, attribute = name.rpartition(".")
        owner = self._names[path]
        registries: tuple[Any, Any] = (owner._parameters, owner._buffers)
        return registries[attribute not in owner._parameters], attribute

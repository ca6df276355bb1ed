"""The layout of a module (submodules, parameters, buffers, hooks), and whether it has changed."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module

from workbench.ort.ortmodule.capture.attributes import Attributes
from workbench.ort.ortmodule.module_wrapper import ModuleWrapper

_FORWARD_HOOKS = ("_forward_pre_hooks", "_forward_hooks")
_BACKWARD_HOOKS = ("_backward_pre_hooks", "_backward_hooks")
_GLOBAL_HOOKS: tuple[dict[int, Any], ...] = tuple(
    getattr(torch_module, f"_global{name}") for name in (*_FORWARD_HOOKS, *_BACKWARD_HOOKS)
)

_TRACED = frozenset({"torch", "transformers", "workbench"})
"""Packages whose forward hooks compute, as that of weight_norm, and may be part of a graph."""

_DISTRIBUTED = "torch.distributed."
"""Modules whose hooks communicate, and replace the memory of parameters."""

Slot = tuple[dict[str, Any], str]
"""Location of a parameter or buffer: its owner's registry, and its name there."""


class Layout:
    """The submodules, parameters and buffers that a module has, by name.

    Changes are detected in the registries, without a traversal of the module.
    """

    def __init__(self, module: nn.Module) -> None:
        self._names: dict[str, nn.Module] = dict(module.named_modules(remove_duplicate=False))
        self.modules = list(dict.fromkeys(self._names.values()))
        """The module and all its submodules."""
        self.holds_ort_module = any(isinstance(each, ModuleWrapper) for each in self.modules)
        """Whether a submodule is an ORTModule."""
        self.children = [
            (each._modules, dict(each._modules)) for each in self.modules if each._modules
        ]
        """Each registry of submodules that is not empty, with its contents."""
        self.attributes = Attributes(self.modules)
        self.registries: list[dict[str, Any]] = [each._parameters for each in self.modules]
        self.registries += [each._buffers for each in self.modules]
        """Every registry of parameters or buffers."""
        self.count = sum(map(len, self.registries))
        """Number of parameters and buffers in them."""
        self.hooks: list[dict[int, Any]] = [
            getattr(each, name)
            for each in self.modules[1:]
            for name in (*_FORWARD_HOOKS, *_BACKWARD_HOOKS)
        ]
        self.hooks += _GLOBAL_HOOKS
        """Every registry of hooks except the module's own, which run around the graph."""
        self.parameters = {name: self._slot(name) for name, _ in module.named_parameters()}
        """Slot of each parameter; a tied one has the first of its names."""
        self.buffers = {name: self._slot(name) for name, _ in module.named_buffers()}
        """Slot of each buffer, persistent or not."""
        names = [name for name, _ in module.named_parameters(remove_duplicate=False)]
        names += [name for name, _ in module.named_buffers(remove_duplicate=False)]
        self.slots = [self._slot(name) for name in names]
        """Slots of the parameters, then of the buffers, including further names of tied ones."""
        self.ties = self._ties()
        """For each slot the place of the first that has the same tensor."""

        self.releases_memory = False
        """Whether parameters may lose their memory between the forward and the backward pass."""

    def is_current(self) -> bool:
        """Whether no submodule was replaced and no parameter or buffer added or removed.

        Also whether no ties between them and no attributes have changed.
        """
        return (
            all(now == before for now, before in self.children)
            and all(registry.get(name) is not None for registry, name in self.slots)
            and sum(map(len, self.registries)) == self.count
            and self._ties() == self.ties
            and self.attributes.unchanged()
        )

    def lost_hook(self) -> str | None:
        """Description of a hook that a graph would lose, or None."""
        if not any(map(len, self.hooks)):
            return None
        if any(map(len, _GLOBAL_HOOKS)):
            return "on all modules"
        for name, each in self._names.items():
            if name and _would_be_lost(each):
                return f"on {name!r}"
        return None

    def tensors(self) -> list[torch.Tensor]:
        """The tensors in `slots` now."""
        return [registry[name] for registry, name in self.slots]

    def _ties(self) -> list[int]:
        """For each slot the place of the first that has the same tensor."""
        first: dict[int, int] = {}
        return [first.setdefault(id(each), place) for place, each in enumerate(self.tensors())]

    def trained(self) -> tuple[bool, ...]:
        """For each parameter, in order, whether it requires a gradient."""
        return tuple([owner[name].requires_grad for owner, name in self.parameters.values()])

    def gradient_bytes(self) -> int:
        """Bytes of the gradients of all parameters that require one."""
        tensors = [owner[name] for owner, name in self.parameters.values()]
        return sum(each.nbytes for each in tensors if each.requires_grad)

    def modes(self) -> tuple[bool, ...]:
        """For each of `modules` whether it is in training mode."""
        return tuple([module.training for module in self.modules])

    def _slot(self, name: str) -> Slot:
        path, _, attribute = name.rpartition(".")
        owner = self._names[path]
        registries: tuple[Any, Any] = (owner._parameters, owner._buffers)
        return registries[attribute not in owner._parameters], attribute


def _would_be_lost(module: nn.Module) -> bool:
    if any(getattr(module, name) for name in _BACKWARD_HOOKS):
        return True
    hooks = [hook for name in _FORWARD_HOOKS for hook in getattr(module, name).values()]
    return not all(map(_is_traced, hooks))


def _is_traced(hook: Any) -> bool:
    while isinstance(hook, partial):
        hook = hook.func
    module = str(getattr(hook, "__module__", ""))
    return module.partition(".")[0] in _TRACED and not module.startswith(_DISTRIBUTED)

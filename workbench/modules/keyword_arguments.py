"""Calls a module with keyword inputs by position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle


class KeywordArguments:
    """A forward pre-hook that converts positional arguments to keyword arguments.

    Models with many optional arguments take some of them by name, while engines pass inputs by
    position. Keyword arguments are passed unchanged.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def __call__(
        self, _module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if len(args) > len(self.names):
            raise TypeError(f"{len(args)} inputs were given for {', '.join(self.names)}.")
        return (), {**dict(zip(self.names, args, strict=False)), **kwargs}


def take_inputs_in_order(
    module: torch.nn.Module, keywords: tuple[str, ...]
) -> RemovableHandle | None:
    """Let `module(*inputs)` pass each input under its name in `keywords`, if any."""
    if not keywords:
        return None
    return module.register_forward_pre_hook(KeywordArguments(keywords), with_kwargs=True)

"""Which layers of a module train, and which its author has put in evaluation mode."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.errors import UntrainableError

if TYPE_CHECKING:
    import torch


def put_in_training(module: torch.nn.Module) -> torch.nn.Module:
    """Put `module` in training mode.

    Layers that are in evaluation mode while the module as a whole trains have been put there by
    its author (`model.norm.eval()`) and stay so.
    """
    return module if module.training else module.train()


@contextlib.contextmanager
def modes_kept(module: torch.nn.Module) -> Iterator[None]:
    """Give every layer its mode back afterwards."""
    before = [(layer, layer.training) for layer in module.modules()]
    try:
        yield
    finally:
        for layer, mode in before:
            layer.training = mode


@contextlib.contextmanager
def export_modes(module: torch.nn.Module, *, training: bool) -> Iterator[frozenset[str] | None]:
    """Put every layer in the mode that the export needs, and back again.

    Batch normalization is exported in its inference form either way.

    Yields:
        The names of the running means that a training step updates; None if not `training`.
    """
    from torch.nn.modules.batchnorm import _BatchNorm

    with modes_kept(module):
        if training:
            put_in_training(module)
        else:
            module.eval()
        updated = set()
        for name, layer in module.named_modules():
            if isinstance(layer, _BatchNorm):
                if layer.training:
                    updated.add(f"{name}.running_mean" if name else "running_mean")
                layer.eval()
        yield frozenset(updated) if training else None


def refuse_what_onnx_cannot_say(module: torch.nn.Module) -> None:
    """Raise an UntrainableError for a layer whose training differs from that of its graph."""
    import torch
    from torch.nn.modules.batchnorm import _BatchNorm

    for name, layer in module.named_modules():
        where = name or type(layer).__name__
        if (
            isinstance(layer, _BatchNorm)
            and layer.training
            and layer.track_running_stats
            and layer.momentum is None
        ):
            raise UntrainableError(
                f"{where} keeps a cumulative average of its statistics (momentum=None), which ONNX "
                f"cannot express. Give it a momentum, such as 0.1."
            )
        if isinstance(layer, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
            for setting in ("max_norm", "scale_grad_by_freq"):
                value = getattr(layer, setting)
                if value:
                    raise UntrainableError(
                        f"{where} has {setting}={value}, which changes its rows outside of the "
                        f"gradient; ONNX cannot express that. Make the layer without {setting}, or "
                        f"use an engine that trains with PyTorch."
                    )

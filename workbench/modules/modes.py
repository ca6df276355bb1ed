"""Training and evaluation mode of the layers of a module."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.errors import UntrainableError

if TYPE_CHECKING:
    import torch


def put_in_training(module: torch.nn.Module) -> torch.nn.Module:
    """Put `module` in training mode.

    If it is already, layers that the user put in evaluation mode (`model.norm.eval()`) stay so.
    """
    return module if module.training else module.train()


@contextlib.contextmanager
def modes_kept(module: torch.nn.Module) -> Iterator[None]:
    """Restore the mode of all layers afterwards."""
    before = [(layer, layer.training) for layer in module.modules()]
    try:
        yield
    finally:
        for layer, mode in before:
            layer.training = mode


@contextlib.contextmanager
def export_modes(module: torch.nn.Module, *, training: bool) -> Iterator[frozenset[str] | None]:
    """Put all layers in the mode for the export, and restore it afterwards.

    Batch normalization is always exported in its inference form.

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


def averages_cumulatively(module: torch.nn.Module) -> bool:
    """Whether a BatchNorm in it is in training mode and keeps a cumulative average."""
    return any(map(_averages, module.modules()))


def _averages(layer: torch.nn.Module) -> bool:
    from torch.nn.modules.batchnorm import _BatchNorm

    return (
        isinstance(layer, _BatchNorm)
        and layer.training
        and layer.track_running_stats
        and layer.momentum is None
    )


def refuse_unsupported_training_settings(module: torch.nn.Module) -> None:
    """Raise an UntrainableError for layer settings that ONNX cannot represent in training."""
    import torch

    for name, layer in module.named_modules():
        where = name or type(layer).__name__
        if _averages(layer):
            raise UntrainableError(
                f"{where} keeps a cumulative average of its statistics (momentum=None), which ONNX "
                "cannot express. Set its momentum, for example to 0.1."
            )
        if isinstance(layer, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
            for setting in ("max_norm", "scale_grad_by_freq"):
                value = getattr(layer, setting)
                if value:
                    raise UntrainableError(
                        f"{where} has {setting}={value}, which ONNX cannot represent. Create the "
                        f"layer without {setting}, or use an engine that trains with PyTorch."
                    )

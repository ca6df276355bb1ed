"""Uses in which tensors leave their memory: offloaded, or released and given back."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks

from tests.ort.ortmodule.calls.usage import gradients


def offloading() -> AbstractContextManager[None]:
    """Tensors saved for the backward pass are stored elsewhere, as on a disk."""
    return saved_tensors_hooks(lambda tensor: tensor.detach().numpy().copy(), torch.from_numpy)


def saved_elsewhere(module: nn.Module) -> Any:
    """Saved tensors of the layers around it are offloaded, too."""
    found = []
    before = nn.Linear(4, 4)
    for elsewhere in (offloading, save_on_cpu):
        module.zero_grad()
        with elsewhere():
            loss = module(before(torch.randn(5, 4))).square().sum()
        loss.backward()
        found.append([loss, gradients(module), gradients(before)])
    return found


def moved_parameters(module: nn.Module) -> Any:
    """Parameters that get other memory between two steps, and away and back within one."""
    found = []
    for step in range(6):
        module.zero_grad()
        loss = module(torch.randn(5, 4)).square().sum()
        if step >= 3:
            kept = [parameter.data for parameter in module.parameters()]
            for parameter in module.parameters():
                parameter.data = torch.empty(0)
            for parameter, values in zip(module.parameters(), kept, strict=True):
                parameter.data = values
        loss.backward()
        found.append([loss, gradients(module)])
        with torch.no_grad():
            for parameter in module.parameters():
                assert parameter.grad is not None
                parameter.data = parameter - 0.1 * parameter.grad
    return found


def changed_offloaded_result(module: nn.Module) -> None:
    """Autograd has a copy of it then, and the session its memory."""
    with offloading():
        result = module(torch.randn(3, 4))
    result.add_(1)
    result.sum().backward()


def moved_parameter(module: nn.Module) -> None:
    loss = module(torch.randn(3, 4)).sum()
    weight = module[2].weight  # type: ignore[index]
    weight.data = weight.data.clone()
    loss.backward()


def released_parameter(module: nn.Module) -> None:
    """Its memory is freed after the forward pass, and allocated again for the backward pass."""
    loss = module(torch.randn(3, 4)).sum()
    weight = module[2].weight  # type: ignore[index]
    values, storage = weight.detach().clone(), weight.untyped_storage()
    size = storage.nbytes()
    storage.resize_(0)
    others = [torch.empty(size // 4) for _ in range(8)]  # so that it does not get the same again
    storage.resize_(size)
    weight.data.copy_(values)
    loss.backward()
    del others

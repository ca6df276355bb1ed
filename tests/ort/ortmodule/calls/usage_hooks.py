"""Uses of hooks on a module and on its layers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from tests.ort.ortmodule.calls.usage import step


@contextmanager
def hooked(*handles: Any) -> Iterator[None]:
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def hooks(module: nn.Module) -> Any:
    """Each kind of hook on the module itself, with and without a changed value."""
    x = torch.randn(5, 4)
    seen: list[Any] = []

    def before_named(
        _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        seen.append(["before_named", sorted(kwargs)])
        return args, kwargs

    def before(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        seen.append(["before", args[0].shape])
        return (args[0] * 2,)

    def after(_: nn.Module, args: tuple[Tensor, ...], result: Tensor) -> None:
        seen.append(["after", args[0].detach().clone(), result.detach().clone()])

    def changed(_: nn.Module, __: tuple[Tensor, ...], result: Tensor) -> Tensor:
        return result + 1

    def backward(_: nn.Module, inputs: Any, outputs: Any) -> None:
        seen.append(["backward", inputs[0], outputs[0].clone()])

    def backward_before(_: nn.Module, outputs: Any) -> tuple[Tensor, ...]:
        return (outputs[0] * 3,)

    found = []
    with hooked(module.register_forward_pre_hook(before)):
        found.append(step(module, x))
        found.append(step(module, x))
    with hooked(module.register_forward_pre_hook(before_named, with_kwargs=True)):
        found.append(step(module, input=x))
    with hooked(module.register_forward_hook(after), module.register_forward_hook(changed)):
        found.append(step(module, x))
    with hooked(module.register_full_backward_hook(backward)):
        found.append(step(module, x))
        found.append(step(module, x.clone().requires_grad_()))
    with hooked(module.register_full_backward_pre_hook(backward_before)):
        found.append(step(module, x))
    return [found, step(module, x), seen]


def state_hooks(module: nn.Module) -> Any:
    def renamed(_: nn.Module, state: dict[str, Any], prefix: str, __: Any) -> None:
        state[f"{prefix}extra"] = torch.ones(1)

    with hooked(module.register_state_dict_post_hook(renamed)):
        return sorted(module.state_dict())


def submodule_hooks(module: nn.Module) -> Any:
    """PyTorch runs the module as long as a hook is on a layer of it."""
    x = torch.randn(5, 4)
    seen: list[Any] = []
    layer: nn.Module = module[0]  # type: ignore[index]
    found = [step(module, x)]
    with hooked(layer.register_forward_hook(lambda *call: seen.append(call[2].detach().clone()))):
        found.append(step(module, x))
    found.append(step(module, x))
    with hooked(layer.register_full_backward_hook(lambda *call: seen.append(call[2][0].clone()))):
        found.append(step(module, x))
    return [found, step(module, x), seen]


def weight_norm(module: nn.Module) -> Any:
    """A hook of PyTorch's own that computes a weight; it is a part of the graph."""
    return [step(module, torch.randn(5, 4)) for _ in range(2)]


def normalized() -> nn.Module:
    return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 8)), nn.ReLU())


def pruned() -> nn.Module:
    """Pruning computes the weight in a forward pre-hook of the layer."""
    from torch.nn.utils import prune

    module = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    prune.random_unstructured(module[0], "weight", amount=0.5)  # type: ignore[no-untyped-call]
    return module

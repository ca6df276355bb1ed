"""Uses of a module within autograd and autocast."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.ort.ortmodule.usage import gradients, step


def subsets(module: nn.Module) -> Any:
    """Gradients of inputs and of a choice of parameters, one of them unused; none accumulates."""
    x = torch.randn(5, 4, requires_grad=True)
    loss = (module(x) ** 2).sum()
    bias = module[2].bias  # type: ignore[index]
    stranger = torch.ones(1, requires_grad=True)
    found = torch.autograd.grad(loss, [x, bias, stranger], allow_unused=True)
    one = torch.autograd.grad(module(x.detach()).sum(), [bias])
    return [found, one, gradients(module), x.grad]


def autograd_around(module: nn.Module) -> Any:
    """The module within a larger graph, called twice, with hooks on parameters and results."""
    seen: list[Tensor] = []
    first = next(module.parameters())
    handles = [
        first.register_hook(lambda gradient: gradient * 2),
        first.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone())),  # type: ignore[union-attr]
    ]
    before = nn.Parameter(torch.ones(4))
    x = torch.randn(5, 4) * before
    y = module(x)
    y.register_hook(lambda gradient: seen.append(gradient.clone()))
    y.retain_grad()
    (y.sum() + (module(x * 2)[:, :2] ** 2).sum()).backward()
    for handle in handles:
        handle.remove()
    return [gradients(module), before.grad, y.grad, seen]


def switches(module: nn.Module) -> Any:
    """Training, evaluation, no_grad, inference_mode, in turn."""
    x = torch.randn(5, 4)
    found = [step(module, x)]
    for grad in (torch.no_grad, torch.inference_mode):
        with grad():
            result = module(x)
        found.append([result.clone(), result.requires_grad])
    module.eval()
    found.append([module(x), module(x).requires_grad])
    module.train()
    return [*found, step(module, x), module.training]


def autocast(module: nn.Module) -> Any:
    """bfloat16, on and off in turn, with a layer of PyTorch before the module."""
    x = torch.randn(5, 4)
    before = nn.Linear(4, 4)
    found: list[Any] = []
    for enabled in (True, True, False, True):
        module.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            result = module(before(x))
            loss = (result.float() ** 2).mean()
        loss.backward()
        found.append([str(result.dtype), result.float(), gradients(module)])
    return [*found, before.weight.grad]


class OfOwnKind(nn.Module):
    """Results of both dtypes under autocast."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.linear(x)
        return y, torch.softmax(y, 1), y.argmax(1)


def autocast_results(module: nn.Module) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        results = module(torch.randn(5, 4))
    return [[str(each.dtype), each.requires_grad] for each in results]


def wrapped_twice(module: nn.Module) -> Any:
    """As a part of a plain module that has layers of its own."""
    outer = nn.ModuleDict({"inner": module, "head": nn.Linear(3, 2)})
    found = []
    for _ in range(2):
        outer.zero_grad()
        outer["head"](outer["inner"](torch.ones(5, 4))).sum().backward()
        found.append(gradients(outer))
    state = {name: value * 2 for name, value in outer.state_dict().items()}
    outer.load_state_dict(state)
    outer.eval()
    return [
        found,
        outer.state_dict(),
        outer["inner"].training,
        [n for n, _ in outer.named_modules()],
    ]

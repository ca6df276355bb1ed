"""Uses of a module within autograd and autocast."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.ort.ortmodule.calls.usage import gradients, step


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


def rounded_products(module: nn.Module) -> Any:
    """In float32, the sums of products would be 0.375 away from what autocast gives. One row runs
    in the graph of more."""
    found = []
    x = torch.ones(2, 128, requires_grad=True)
    with torch.no_grad():
        module[0].weight.fill_(1 + 3 / 1024)  # type: ignore[index, operator]
        module[0].bias.fill_(-128)  # type: ignore[index, operator]
    for dtype in (torch.bfloat16, None):
        for given in (x, x[:1]):
            with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
                found.append(step(module, given))
    return [found, x.grad]


def sums_of_products() -> nn.Module:
    return nn.Sequential(nn.Linear(128, 1))


def loss_within(module: nn.Module) -> Any:
    """A few steps of a module that computes its loss, which autocast leaves in float32."""
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    x, y = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = module(x, y)
        loss.backward()
        optimizer.step()
        losses.append([str(loss.dtype), loss])
    return [losses, module.state_dict()]


class WithLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(4), nn.Linear(4, 3)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return nn.functional.cross_entropy(self.linear(self.norm(x)), y)


class OfOwnKind(nn.Module):
    """Results of both dtypes under autocast, and the name of one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, str]:
        y = self.linear(x)
        return y, torch.softmax(y, 1), y.argmax(1), str(y.dtype)


def encoder() -> nn.Module:
    """With GELU: ReLU's gate may open or close by a rounding, and its gradient with it.

    Against float64, gradients of linear1 were 0.1 to 0.3 of their largest number off in PyTorch,
    and here alike; with GELU 0.01.
    """
    layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, nn.functional.gelu, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def rounded_encoder(module: nn.Module) -> Any:
    """The result, and each gradient over its largest number."""
    weights = torch.randn(3, 8, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = module(torch.randn(3, 8, 16))
    (result.float() * weights).mean().backward()
    scaled = [each / each.abs().max() for each in gradients(module).values() if each is not None]
    return [result.float(), scaled]


def autocast_results(module: nn.Module) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        *results, name = module(torch.randn(5, 4))
    return [name, *([str(each.dtype), each.requires_grad] for each in results)]


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

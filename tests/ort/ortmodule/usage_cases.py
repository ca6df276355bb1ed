"""Ways of using a module, each written once and run with the plain module and with an ORTModule.

A use is given a module and returns what is to be the same: tensors, numbers, names, in any nesting.
"""

from __future__ import annotations

import copy
import dataclasses
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

Use = Callable[[nn.Module], Any]


class UseCase(NamedTuple):
    """A module and what is done with it."""

    build: Callable[[], nn.Module]
    use: Use
    graphs: int = 1
    """How many graphs an ORTModule has in the end; 0 where PyTorch runs every call."""
    tolerance: float = 1e-5


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def gradients(module: nn.Module) -> dict[str, Tensor | None]:
    return {
        name: None if parameter.grad is None else parameter.grad.clone()
        for name, parameter in module.named_parameters()
    }


def step(module: nn.Module, *args: Any, **kwargs: Any) -> list[Any]:
    """Result and gradients of one call; the gradients are reset before."""
    module.zero_grad()
    result = module(*args, **kwargs)
    first = result if isinstance(result, Tensor) else next(iter(result))
    (first.float() ** 2).mean().backward()
    return [result, gradients(module)]


# Sizes


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.linear = nn.Embedding(11, 4), nn.Linear(4, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.tokens(tokens)
        y: Tensor = self.linear(torch.softmax(hidden @ hidden.transpose(1, 2), -1) @ hidden)
        return y.squeeze(1)


class Tokens(nn.Module):
    """Attention over tokens with a mask; their positions have no batch."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(11, 8), nn.Embedding(16, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.output = nn.Linear(8, 11)

    def forward(self, tokens: Tensor, padding: Tensor | None = None) -> Tensor:
        places = torch.arange(tokens.shape[1])
        hidden = self.tokens(tokens) + self.positions(places)
        attended, _ = self.attention(hidden, hidden, hidden, padding, need_weights=False)
        y: Tensor = self.output(attended)
        return y


def lengths(module: nn.Module) -> Any:
    sizes = [(4, 8), (3, 8), (4, 6), (2, 5), (7, 7), (1, 9), (5, 8)]
    return [step(module, torch.randint(0, 11, size)) for size in sizes]


def masked_lengths(module: nn.Module) -> Any:
    found = []
    for size in [(8, 8), (3, 5), (4, 6), (5, 3)]:
        padding = torch.zeros(size, dtype=torch.bool)
        padding[:, 2:] = True
        found.append(step(module, torch.randint(0, 11, size), padding=padding))
    return found


class Positions(nn.Module):
    """Adds what has no batch, times a number that is a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, positions: Tensor, scale: Tensor) -> Tensor:
        return torch.tanh(self.linear(x) + positions) * scale


def without_batch(module: nn.Module) -> Any:
    calls = [((6, 5, 4), (1, 5, 4)), ((3, 5, 4), (1, 5, 4)), ((3, 7, 4), (7, 4))]
    return [step(module, torch.randn(x), torch.randn(y), torch.randn(())) for x, y in calls]


class FixedBatch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        return y.reshape(4, 3, 2) if x.shape[0] == 4 else y


def fixed_batch(module: nn.Module) -> Any:
    return [step(module, torch.randn(size, 4)) for size in (4, 5, 4)]


class FixedLength(nn.Module):
    """Takes any batch, but knows two lengths only."""

    def __init__(self) -> None:
        super().__init__()
        self.short, self.long = nn.Linear(4, 3), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.short(x) if x.shape[1] == 4 else self.long(x)
        return y


def fixed_length(module: nn.Module) -> Any:
    return [step(module, torch.randn(*size)) for size in ((5, 4), (3, 6), (2, 4), (4, 6))]


def one_element(module: nn.Module) -> Any:
    sizes = [(4, 8), (4, 1), (4, 6), (1, 8)]
    return [step(module, torch.randint(0, 11, size)) for size in sizes]


def no_rows(module: nn.Module) -> Any:
    return [step(module, torch.randn(rows, 4)) for rows in (4, 0, 2)]


# Arguments and results


@dataclasses.dataclass
class Output:
    logits: Tensor
    hidden: list[Tensor]
    rows: int
    note: str | None = None


class Structured(nn.Module):
    """Nested arguments of many kinds; a dataclass with tensors, truth values and a size."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.head = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(
        self,
        features: dict[str, Any],
        pair: tuple[Tensor, float] | None = None,
        *,
        dtype: torch.dtype = torch.float32,
    ) -> tuple[Tensor, Output, Tensor]:
        x = features["x"] + sum(features["more"])
        if pair is not None:
            x = x + pair[0] * pair[1]
        hidden = torch.relu(self.linear(x))
        logits = self.head(hidden)
        return logits, Output(logits, [hidden], x.shape[0]), (logits > 0).to(dtype) > 0


def structured(module: nn.Module) -> Any:
    x, y, z = torch.randn(3, 5, 4)
    return [
        step(module, {"x": x, "more": [y, z]}),
        step(module, {"x": x, "more": [y, z]}, pair=(z, 0.5)),
        step(module, features={"x": x, "more": (y,)}, pair=None, dtype=torch.float64),
        step(module, {"x": x[:3], "more": [y[:3], z[:3]]}),
    ]


class Results(nn.Module):
    """Results that have no gradient beside one that has."""

    offset: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("offset", torch.randn(4))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.linear(x)
        return y, y.detach(), x, x + self.offset, y.argmax(1), y > 0, self.linear.weight


def which_require_gradients(module: nn.Module) -> Any:
    results = module(torch.randn(3, 4))
    return [[each, each.requires_grad, str(each.dtype)] for each in results]


class Silent(nn.Module):
    """A result that no gradient leads to, of the kind that is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, kind: str) -> Tensor:
        y: Tensor = self.linear(x)
        return y.argmax(1) if kind == "argmax" else y.detach()


def without_gradient(module: nn.Module) -> Any:
    x = torch.randn(3, 4)
    results = [module(x, kind) for kind in ("argmax", "detached")]
    return [[each, each.requires_grad, str(each.dtype)] for each in results]


# State


def checkpoints(module: nn.Module) -> Any:
    """State dicts back and forth with another module, by file and strictly."""
    x = torch.randn(5, 4)
    first = step(module, x)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    plain = network()
    plain.load_state_dict(torch.load(file, weights_only=True))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1)
    missing = module.load_state_dict({"0.bias": torch.zeros(8)}, strict=False)
    module.load_state_dict(plain.state_dict())
    return [first, step(module, x), sorted(missing.missing_keys), list(module.state_dict())]


def names(module: nn.Module) -> Any:
    return [
        [name for name, _ in module.named_parameters()],
        [name for name, _ in module.named_modules()],
        [name for name, _ in module.named_children()],
        [type(each).__name__ for each in module.modules()],
        [type(each).__name__ for each in module],  # type: ignore[attr-defined]
        len(module),  # type: ignore[arg-type]
        type(module[0]).__name__,  # type: ignore[index]
        module.get_submodule("2").out_features,
        bool(module),
    ]


class Scaled(nn.Module):
    """Has an attribute, a method and a property of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.limit = 3

    @property
    def width(self) -> int:
        return self.limit * 2

    def penalty(self) -> Tensor:
        return sum((p**2).sum() for p in self.parameters())  # type: ignore[return-value]

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        return y


def attributes(module: nn.Module) -> Any:
    module(torch.randn(2, 4))
    module.limit = 5
    found = [module.width, module.penalty(), module.training]  # type: ignore[operator]
    module.register_buffer("extra", torch.ones(2))
    module.added = nn.Parameter(torch.ones(3))
    found += [sorted(module.state_dict()), step(module, torch.ones(2, 4))]
    del module.added
    module.eval()
    return [*found, module.training, module.linear.training, sorted(module.state_dict())]


def copies(module: nn.Module) -> Any:
    """A deep copy has memory of its own; both go on."""
    x = torch.randn(5, 4)
    before = step(module, x)
    twin = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(2)
    assert type(twin) is type(module)
    return [before, step(module, x), step(twin, x)]


def pickles(module: nn.Module) -> Any:
    x = torch.randn(5, 4)
    before = step(module, x)
    module.eval()
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    twin = torch.load(file, weights_only=False)
    assert type(twin) is type(module)
    return [before, twin.training, step(twin.train(), x)]


def frozen_then_not(module: nn.Module) -> Any:
    x = torch.randn(5, 4)
    found = []
    for trained in (False, True, False):
        module[0].requires_grad_(trained)  # type: ignore[index]
        found.append(step(module, x))
    module.requires_grad_(False)
    found.append(module(x).requires_grad)
    module.requires_grad_(True)
    return [*found, step(module, x)]


class Shared(nn.Module):
    """One layer twice, and two names for one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.again = self.first
        self.other = nn.Linear(4, 4)
        self.other.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.other(torch.tanh(self.again(torch.tanh(self.first(x)))))
        return y


def trained(module: nn.Module) -> Any:
    """Adam with momentum, accumulated gradients and clipping, over batches with a small last."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.05)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        for rows in (6, 6, 2):
            loss = functional.mse_loss(module(torch.randn(rows, 4)), torch.ones(rows, 4))
            loss.backward()
            losses.append(loss.detach())
        nn.utils.clip_grad_norm_(module.parameters(), 0.5)
        optimizer.step()
    return [losses, module.state_dict()]


def other_precision(module: nn.Module) -> Any:
    """Weights in half precision, and back."""
    x = torch.randn(5, 4)
    found = [step(module, x)]
    module.half()
    found.append(step(module, x.half()))
    module.float()
    return [*found, step(module, x), str(next(module.parameters()).dtype)]


def other_shape(module: nn.Module) -> Any:
    """Parameters of another shape in the place of some, for the same calls."""
    found = [step(module, torch.randn(5, 4))]
    module[2].weight = nn.Parameter(torch.full((5, 8), 0.1))  # type: ignore[index]
    module[2].bias = nn.Parameter(torch.ones(5))  # type: ignore[index]
    return [*found, step(module, torch.randn(5, 4))]


# Autograd


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


# Hooks


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


# Autocast


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


CASES: dict[str, UseCase] = {
    "lengths": UseCase(Embedded, lengths),
    "masked-lengths": UseCase(Tokens, masked_lengths),
    "without-batch": UseCase(Positions, without_batch, graphs=2),
    "fixed-batch": UseCase(FixedBatch, fixed_batch, graphs=2),
    "fixed-length": UseCase(FixedLength, fixed_length, graphs=2),
    "one-element": UseCase(Embedded, one_element, graphs=2),
    "no-rows": UseCase(network, no_rows),
    "structured": UseCase(Structured, structured, graphs=3),
    "which-require-gradients": UseCase(Results, which_require_gradients),
    "without-gradient": UseCase(Silent, without_gradient, graphs=2),
    "checkpoints": UseCase(network, checkpoints),
    "names": UseCase(network, names, graphs=0),
    "attributes": UseCase(Scaled, attributes),
    "copies": UseCase(network, copies),
    "pickles": UseCase(network, pickles),
    "frozen-then-not": UseCase(network, frozen_then_not, graphs=2),
    "shared": UseCase(Shared, trained),
    "other-precision": UseCase(network, other_precision, graphs=2, tolerance=5e-3),
    "other-shape": UseCase(network, other_shape),
    "subsets": UseCase(network, subsets, graphs=2),
    "autograd-around": UseCase(network, autograd_around),
    "switches": UseCase(network, switches),
    "hooks": UseCase(network, hooks, graphs=3),
    "state-hooks": UseCase(network, state_hooks, graphs=0),
    "submodule-hooks": UseCase(network, submodule_hooks),
    "weight-norm": UseCase(normalized, weight_norm),
    "pruned": UseCase(pruned, weight_norm),
    "autocast": UseCase(network, autocast, graphs=2, tolerance=2e-2),
    "autocast-results": UseCase(OfOwnKind, autocast_results),
    "within-another": UseCase(network, wrapped_twice),
}

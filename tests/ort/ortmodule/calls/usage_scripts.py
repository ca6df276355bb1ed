"""Uses as scripts for onnxruntime-training's ORTModule have them: results of the user's own
classes, methods that call the module, and the forward's signature."""

from __future__ import annotations

import copy
import dataclasses
import enum
import inspect
import pickle
from collections import Counter, UserDict, defaultdict, deque
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from tests.ort.ortmodule.calls.usage import gradients, step


class Color(enum.Enum):
    RED = 1


class Own:
    """A class of the user's, which nothing knows how to take apart."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


@dataclasses.dataclass
class Derived:
    x: Any
    twice: Any = dataclasses.field(init=False, default=None)

    def __post_init__(self) -> None:
        self.twice = self.x * 2


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: Any


class Named(dict):  # type: ignore[type-arg]
    pass


class InPytree:
    def __init__(self, x: Any, name: str) -> None:
        self.x, self.name = x, name


pytree.register_pytree_node(
    InPytree,
    lambda value: ([value.x], value.name),
    lambda children, name: InPytree(*children, name),
)


class Returning(nn.Module):
    """Returns what a function of the user's makes of its hidden layer."""

    def __init__(self, make: Callable[[Any, Tensor], Any]) -> None:
        super().__init__()
        self.linear, self.make, self.settings = nn.Linear(4, 4), make, Own("settings")

    def forward(self, x: Tensor) -> Any:
        return self.make(self, self.linear(x))


def returning(make: Callable[[Any, Tensor], Any]) -> Callable[[], nn.Module]:
    return lambda: Returning(make)


def kept(module: Any, y: Tensor) -> Any:
    values = (Color.RED, Fraction(1, 2), np.arange(3).tolist(), {1, 2}, range(3), Counter("aab"))
    return y, np.float32(2.5), Own([1, {"a": Own(2)}]), module.settings, "text", values


def kept_objects(module: nn.Module) -> Any:
    x = torch.randn(3, 4)
    found = [module(x) for _ in range(2)]
    return [found, [each[3] is module.settings for each in found], step(module, x)]


def rebuilt(_: Any, y: Tensor) -> Any:
    derived = Derived(y)
    return [
        y,
        derived,
        Frozen([y, 1]),
        Derived(2),
        Named(a=y, b=2),
        defaultdict(list, a=[y]),
        deque([y, y]),
        UserDict(a=y),
        SimpleNamespace(a=y),
        InPytree(y, "name"),
        (y.shape, y.shape[0], y.shape[0] / 2),
    ]


def rebuilt_objects(module: nn.Module) -> Any:
    found = []
    for rows in (3, 5):
        y, derived, frozen, number, named, lists, queue, user, space, tree, sizes = module(
            torch.randn(rows, 4)
        )
        (derived.twice * frozen.x[0] + named["a"] + queue[1] + tree.x).sum().backward()
        kinds = [type(each).__name__ for each in (derived, frozen, named, lists, queue, user, tree)]
        values = [number.twice, named["b"], lists["a"], lists["new"], user["a"], space.a]
        found.append([y, kinds, values, tree.name, list(sizes), gradients(module)])
    return found


def distributed(_: Any, y: Tensor) -> Any:
    normal = torch.distributions.Normal(y, y.exp())
    return y, normal, torch.distributions.Categorical(logits=y)


def distributions(module: nn.Module) -> Any:
    _, normal, categorical = module(torch.randn(3, 4))
    loss = normal.log_prob(torch.ones(3, 4)).sum() + categorical.entropy().sum()
    loss.backward()
    return [type(normal).__name__, normal.mean, normal.batch_shape, loss, gradients(module)]


def without_tensors(module: nn.Module) -> Any:
    return [module(torch.randn(3, 4)) for _ in range(2)]


class ChangesArgument(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x.add_(1))
        return y


def changed_arguments(module: nn.Module) -> Any:
    found = []
    for rows in (3, 5):
        x = torch.randn(rows, 4)
        y = module(x)
        y.sum().backward()
        found.append([x, y, gradients(module)])
    return found


class Stepping(nn.Module):
    """As a LightningModule is written, with a base class that has a part of the step."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.steps = nn.Linear(4, 4), 0

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return self.part(x) * scale

    def part(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        return torch.tanh(y)

    def loss(self, x: Tensor) -> Tensor:
        y: Tensor = self(x)
        return y.pow(2).mean()


class Training(Stepping):
    def loss(self, x: Tensor) -> Tensor:
        assert isinstance(self, Training)
        return super().loss(x)

    def training_step(self, batch: Tensor) -> Tensor:
        self.steps += 1
        return self.loss(batch) + self.forward(batch).mean() + self(batch).sum()

    def losses(self, batches: list[Tensor]) -> Iterator[Tensor]:
        for batch in batches:
            yield self(batch).mean()

    def twin(self) -> tuple[Any, Any]:
        return copy.deepcopy(self), pickle.loads(pickle.dumps(self))

    def names(self) -> list[str]:
        return list(inspect.signature(self.forward).parameters)

    def later(self) -> Callable[[Tensor], Tensor]:
        forward = self.forward
        return lambda x: forward(x).sum()

    def doubled(self, x: Tensor) -> Tensor:
        return 2 * self.part(x)

    def switch(self) -> None:
        self.forward = self.doubled  # type: ignore[method-assign, assignment]


def own_calls(module: Any) -> Any:
    """Every call that the methods make runs where one from outside would."""
    x = torch.randn(3, 4)
    found = []
    for batch in (x, torch.randn(5, 4)):
        module.zero_grad()
        loss = module.training_step(batch)
        loss.backward()
        found.append([loss, gradients(module)])
    parts = list(module.losses([x, x * 2]))
    twins = [each(x).grad_fn.name() for each in module.twin()]
    module.eval()
    assert module.training_step(x).requires_grad
    module.train()
    return [found, parts, twins, module.names(), module.steps, step(module, x)]


def kept_forward(module: Any) -> Any:
    """A method that was taken from the module runs after it; attributes that it sets stay set."""
    x = torch.randn(3, 4)
    found = module.later()(x)
    module.switch()
    return [found, step(module, x)]


def seen_hooks(module: Any) -> Any:
    """A hook on the module runs once in each call that a method makes."""
    seen: list[Any] = []
    handle = module.register_forward_hook(lambda *call: seen.append(call[2].shape))
    module.loss(torch.randn(3, 4)).backward()
    handle.remove()
    return [seen, gradients(module)]


def signature(module: Any) -> Any:
    asked = inspect.getfullargspec(module.forward)
    return [str(inspect.signature(module.forward)), asked.args, asked.defaults]


def replaced_forward(module: Any) -> Any:
    """As Accelerate does: a forward around the forward, and back."""
    x, plain = torch.randn(3, 4), module.forward
    module.forward = lambda *args, **kwargs: plain(*args, **kwargs) + 1
    found = step(module, x)
    del module.forward
    return [found, step(module, x)]


class Narrow(nn.Module):
    """Operators on half precision and on small integers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 6)

    def forward(self, x: Tensor, small: Tensor) -> Tensor:
        y = self.linear(x)
        factors = [
            small > 2, small == 3, small <= small.flip(1), (small + small) // 2, small * small,
            small.maximum(small.flip(1)), small.sort(1).values, -small, small**2,
            torch.where(small > 1, small, small * 0), small.bool().masked_fill(small > 4, False),
            small.bool() + small.bool(),
        ]  # fmt: skip
        whole = sum((each.to(y.dtype) / 100 for each in factors), y * 0)
        parts = [
            y * whole, y.max(), y.amin(1, keepdim=True), torch.maximum(y, y * 2), y.clamp_min(0.1),
            y.clamp(-0.3, 0.3), y.norm(), nn.functional.elu(y), nn.functional.hardswish(y),
            torch.cat([y, y * 2], 1)[:, :6], nn.functional.layer_norm(y, (6,)), y.roll(1, 1),
            nn.functional.normalize(y), torch.log1p(y.abs()), y[:, [0, 2]].sum(),
            torch.cat([y[:, :3].tril(), y[:, 3:]], 1),
        ]  # fmt: skip
        return sum(parts, y * 0)


def narrow_types(module: nn.Module) -> Any:
    found = []
    x = torch.randn(3, 4)
    values = torch.tensor([[1, 2, 3, 200, 5, 0], [0, 0, 7, 1, 2, 9], [3, 3, 3, 3, 1, 1]])
    for dtype in (torch.uint8, torch.int16):
        found.append(step(module, x, values.to(dtype)))
    module.half()
    found.append(step(module, x.half(), values.to(torch.uint8)))
    return found

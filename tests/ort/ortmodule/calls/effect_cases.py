"""Modules that change more than a result, or do something else with one row, and ways to change a
module between calls: each with the plain module and with an ORTModule.
"""

from __future__ import annotations

import random
import types
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.ort.ortmodule.calls.usage import UseCase, network, step
from workbench import ORTModule

CALLS = {"seen": 0}
TOTAL = 0
SCALE = 2.0
spread: Any = 2.0
"""Has the name of an attribute, as variables of scripts do."""

Forward = Callable[[Any, Tensor], Any]


class Doing(nn.Module):
    """Two layers around what the case does."""

    def __init__(self, how: Forward, **held: Any) -> None:
        super().__init__()
        self.linear, self.last = nn.Linear(4, 4), nn.Linear(4, 4)
        self.how = how
        for name, value in held.items():
            if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
                self.register_buffer(name, value.clone())
            else:
                setattr(self, name, value() if callable(value) else value)

    def forward(self, x: Tensor) -> Any:
        return self.how(self, x)


def seen(module: nn.Module, x: Tensor) -> list[Any]:
    """All that is to be as with the plain module after a call."""
    found = step(module, x)
    known = (bool, int, float, str, list, dict, tuple)
    own = vars(getattr(module, "wrapped", module))
    held = {k: v for k, v in own.items() if not k.startswith("_") and isinstance(v, known)}
    state = {name: value.clone() for name, value in module.state_dict().items()}
    found += [x.detach().clone(), list(x.shape), state]
    found.append({k: list(v) if isinstance(v, list) else v for k, v in held.items()})
    return found


def batches(module: nn.Module) -> Any:
    """Calls with batches of several sizes, one row among them."""
    return [seen(module, torch.randn(rows, 4)) for rows in (3, 1, 5, 1)]


def one_first(module: nn.Module) -> Any:
    return [seen(module, torch.randn(rows, 4)) for rows in (1, 3, 1)]


def with_gradient(module: nn.Module) -> Any:
    """The argument is no leaf and requires a gradient."""
    found = []
    for rows in (3, 1, 3):
        x = torch.randn(rows, 4, requires_grad=True)
        found += [seen(module, x * 2), x.grad]
    return found


def counts(module: Any, x: Tensor) -> Tensor:
    module.count += 1
    return module.last(module.linear(x)) * module.count  # type: ignore[no-any-return]


def logs(module: Any, x: Tensor) -> Tensor:
    """The list does not influence the result."""
    module.rows.append(x.shape[0])
    return module.linear(x)  # type: ignore[no-any-return]


def notes_rows(module: Any, x: Tensor) -> Tensor:
    """The first call leaves its state unchanged: only the export sees that it depends on sizes."""
    module.rows = x.shape[0]
    return module.linear(x)  # type: ignore[no-any-return]


def counts_globally(module: Any, x: Tensor) -> Tensor:
    CALLS["seen"] += 1
    return module.linear(x) * CALLS["seen"]  # type: ignore[no-any-return]


def counts_in_global(module: Any, x: Tensor) -> Tensor:
    global TOTAL  # noqa: PLW0603 -- what is tested
    TOTAL += 1
    return module.linear(x) * (TOTAL % 3)  # type: ignore[no-any-return]


def reset_globals(module: nn.Module) -> Any:
    global TOTAL  # noqa: PLW0603 -- what is tested
    CALLS["seen"] = TOTAL = 0
    return batches(module)


def counting_closure() -> nn.Module:
    calls = 0

    def forward(module: Any, x: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        return module.linear(x) * calls  # type: ignore[no-any-return]

    return Doing(forward)


def counts_in_class() -> nn.Module:
    class Counted(Doing):
        calls = 0

        def forward(self, x: Tensor) -> Any:
            type(self).calls += 1
            return self.linear(x) * self.calls

    return Counted(logs)


def reassigns(module: Any, x: Tensor) -> Tensor:
    module.mean = 0.9 * module.mean + 0.1 * x.detach().mean(0)
    return module.linear(x - module.mean)  # type: ignore[no-any-return]


def writes_data(module: Any, x: Tensor) -> Tensor:
    module.mean.data.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
    return module.linear(x - module.mean)  # type: ignore[no-any-return]


def writes_detached(module: Any, x: Tensor) -> Tensor:
    module.mean.detach()[1:] += 1
    return module.linear(x + module.mean)  # type: ignore[no-any-return]


def writes_in_place(module: Any, x: Tensor) -> Tensor:
    """A graph does this as well."""
    with torch.no_grad():
        module.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
    return module.linear(x - module.mean)  # type: ignore[no-any-return]


def recurrent(module: Any, x: Tensor) -> Tensor:
    before = 0 if module.hidden is None else module.hidden
    made = torch.tanh(module.linear(x).mean(0) + before)
    module.hidden = made.detach()
    return made + x  # type: ignore[no-any-return]


def remembers(module: Any, x: Tensor) -> Tensor:
    module.past.append(x.detach().mean(0))
    return module.linear(x) + sum(module.past)  # type: ignore[no-any-return]


def table(module: Any, x: Tensor) -> Tensor:
    """BuiltGraph at the first call, and again when it is too short."""
    if module.table is None or module.table.shape[0] < x.shape[0]:
        module.table = torch.arange(4.0 * x.shape[0]).reshape(-1, 4)
    return module.linear(x) + module.table[: x.shape[0]]  # type: ignore[no-any-return]


def table_once(module: Any, x: Tensor) -> Tensor:
    if "table" not in module.cache:
        module.cache["table"] = torch.arange(4.0)
    return module.linear(x) + module.cache["table"]  # type: ignore[no-any-return]


def spectral(module: Any, x: Tensor) -> Tensor:
    with torch.no_grad():
        v = functional.normalize(module.linear.weight.t() @ module.u, dim=0)
        module.u = functional.normalize(module.linear.weight @ v, dim=0)
    sigma = module.u @ (module.linear.weight @ v)
    return functional.linear(x, module.linear.weight / sigma)


def draws_numpy(module: Any, x: Tensor) -> Tensor:
    return module.linear(x) * float(np.random.rand())  # type: ignore[no-any-return]


def draws_python(module: Any, x: Tensor) -> Tensor:
    return module.linear(x) if random.random() < 0.5 else module.last(x)  # type: ignore[no-any-return]


def draws_own(module: Any, x: Tensor) -> Tensor:
    return module.linear(x) * module.generator.uniform()  # type: ignore[no-any-return]


def seeded_draws(module: nn.Module) -> Any:
    random.seed(3)
    np.random.seed(3)
    return batches(module)


def toggles(module: Any, x: Tensor) -> Tensor:
    module.last.train(not module.last.training)
    return functional.dropout(module.linear(x), 0.0) * (2 if module.last.training else 1)


def adds_detached(module: Any, x: Tensor) -> Tensor:
    x.detach().add_(1)
    return module.linear(x)  # type: ignore[no-any-return]


def adds_data(module: Any, x: Tensor) -> Tensor:
    x.data[:, 1:].add_(1)
    return module.linear(x)  # type: ignore[no-any-return]


def unsqueezes(module: Any, x: Tensor) -> Tensor:
    return module.linear(x.unsqueeze_(0))  # type: ignore[no-any-return]


def resizes(module: Any, x: Tensor) -> Tensor:
    return module.linear(x.resize_(1, 4))  # type: ignore[no-any-return]


def adds_in_place(module: Any, x: Tensor) -> Tensor:
    return module.linear(x.mul_(3))  # type: ignore[no-any-return]


def scales_gradient(module: Any, x: Tensor) -> Tensor:
    made = module.linear(x)
    made.register_hook(lambda gradient: gradient * 10)
    return module.last(made)  # type: ignore[no-any-return]


def hidden_layer(module: Any, x: Tensor) -> Tensor:
    return module.parts.first(module.linear(x))  # type: ignore[no-any-return]


def hiding_layer() -> nn.Module:
    return Doing(hidden_layer, parts=lambda: types.SimpleNamespace(first=nn.Linear(4, 4)))


def holding_ort_module() -> nn.Module:
    made = Doing(lambda module, x: module.last(module.linear(x)))
    made.linear = ORTModule(nn.Linear(4, 4))
    return made


def reads_generated(module: Any, x: Tensor) -> Tensor:
    return module.linear(x) * module.generated  # type: ignore[no-any-return]


def reads_none(module: Any, x: Tensor) -> Tensor:
    return module.linear(x)  # type: ignore[no-any-return]


def generating(module: Any) -> Any:
    """Weights that another parameter generates before each call, as in a hypernetwork."""
    source = nn.Parameter(torch.full((4,), 0.5))
    found = []
    for rows in (3, 1, 3):
        module.generated = source * rows
        found += [seen(module, torch.randn(rows, 4)), source.grad]
    return found


def reads_attribute(module: Any, x: Tensor) -> Tensor:
    return module.linear(x) * module.spread  # type: ignore[no-any-return]


def in_a_script(module: Any) -> Any:
    """The variable of that name is another tensor after each call, and requires a gradient."""
    global spread  # noqa: PLW0603 -- what is tested
    spread, found, graphs = 2.0, [], []
    for rows in (3, 4, 3):
        found.append(seen(module, torch.randn(rows, 4)))
        graphs.append(getattr(module, "built_graphs", ()))
        spread = module.linear.weight.sum() * rows
    first = [*map(id, graphs[0])]
    return [*found, all([*map(id, each)] == first for each in graphs)]


def lazy_layer(module: Any, x: Tensor) -> Tensor:
    return module.made(module.linear(x))  # type: ignore[no-any-return]


def lazy() -> nn.Module:
    with warnings.catch_warnings():
        # "Lazy modules are a new feature under heavy development".
        warnings.simplefilter("ignore")
        return Doing(lazy_layer, made=lambda: nn.LazyLinear(4))


def squeezes_batch(module: Any, x: Tensor) -> Tensor:
    return module.linear(x).squeeze(0)  # type: ignore[no-any-return]


def squeezes_all(module: Any, x: Tensor) -> Tensor:
    return module.linear(x).squeeze() * 2  # type: ignore[no-any-return]


def one_is_special(module: Any, x: Tensor) -> Tensor:
    return module.linear(x) if x.shape[0] == 1 else module.last(x)  # type: ignore[no-any-return]


def scaled_by_rows(module: Any, x: Tensor) -> Tensor:
    return module.linear(x) * (2.5 if x.shape[0] > 1 else 1.5)  # type: ignore[no-any-return]


def many_are_special(module: Any, x: Tensor) -> Tensor:
    return module.last(x) if x.shape[0] > 4 else module.linear(x)  # type: ignore[no-any-return]


def doing(how: Forward, **held: Any) -> Callable[[], nn.Module]:
    return lambda: Doing(how, **held)


WITHIN: dict[str, UseCase] = {
    "attribute": UseCase(doing(counts, count=0), batches, 0, warns="'count'"),
    "list": UseCase(doing(logs, rows=list), batches, 0, warns="'rows'"),
    "size": UseCase(doing(notes_rows, rows=3), batches, 0, warns="'rows'"),
    "global-dict": UseCase(doing(counts_globally), reset_globals, 0, warns="'CALLS'"),
    "global-number": UseCase(doing(counts_in_global), reset_globals, 0, warns="'TOTAL'"),
    "closure": UseCase(counting_closure, batches, 0, warns="'calls' of an enclosing"),
    "class": UseCase(counts_in_class, batches, 0, warns="'Counted.calls'"),
    "replaced-buffer": UseCase(
        doing(reassigns, mean=torch.zeros(4)), batches, 0, warns="replaces its buffer 'mean'"
    ),
    "data-of-buffer": UseCase(
        doing(writes_data, mean=torch.zeros(4)), batches, 0, warns="buffer 'mean'"
    ),
    "detached-buffer": UseCase(
        doing(writes_detached, mean=torch.zeros(4)), batches, 0, warns="buffer 'mean'"
    ),
    "buffer-in-place": UseCase(doing(writes_in_place, mean=torch.zeros(4)), batches),
    "hidden-state": UseCase(doing(recurrent, hidden=None), batches, 0, warns="'hidden'"),
    "deque": UseCase(doing(remembers, past=lambda: deque(maxlen=2)), batches, 0, warns="'past'"),
    "growing-table": UseCase(doing(table, table=None), batches),
    "many-rows": UseCase(doing(many_are_special), batches, 2),
    "table-once": UseCase(doing(table_once, cache=dict), batches),
    "spectral-norm": UseCase(doing(spectral, u=torch.ones(4) / 2), batches, 0, warns="'u'"),
    "numpy-random": UseCase(doing(draws_numpy), seeded_draws, 0, warns="generator of numpy"),
    "python-random": UseCase(doing(draws_python), seeded_draws, 0, warns="generator of Python"),
    "own-random": UseCase(
        doing(draws_own, generator=lambda: np.random.default_rng(1)),
        batches,
        0,
        warns="'generator'",
    ),
    "toggled-mode": UseCase(doing(toggles), batches, 0, warns="'last.training'"),
    "detached-argument": UseCase(doing(adds_detached), batches, 0, warns="argument in place"),
    "data-of-argument": UseCase(doing(adds_data), batches, 0, warns="argument in place"),
    "argument-unsqueezed": UseCase(doing(unsqueezes), batches, 0, warns="argument in place"),
    "argument-resized": UseCase(doing(resizes), one_first, 0, warns="argument in place"),
    "argument-with-gradient": UseCase(
        doing(adds_in_place), with_gradient, 0, warns="argument in place"
    ),
    "tensor-hook": UseCase(doing(scales_gradient), batches, 0, warns="register_hook"),
    "layer-in-object": UseCase(hiding_layer, batches, 0, warns="'parts'"),
    "layer-is-ort-module": UseCase(holding_ort_module, batches, 0, warns="is an ORTModule itself"),
    "generated-weights": UseCase(
        doing(reads_generated, generated=None), generating, 0, warns="'generated'"
    ),
    "generated-and-not-read": UseCase(doing(reads_none, generated=None), generating),
    "variable-named-as-attribute": UseCase(doing(reads_attribute, spread=1.5), in_a_script),
    "lazy-layer": UseCase(lazy, batches),
    "squeezed": UseCase(doing(squeezes_batch), batches, 2),
    "squeezed-one-first": UseCase(doing(squeezes_all), one_first, 2),
    "one-is-special": UseCase(doing(one_is_special), batches, 2),
    "scaled-by-rows": UseCase(doing(scaled_by_rows), batches, 2, sweep=True),
}
"""Modules whose own forward pass does it."""


def between(change: Callable[[Any], object]) -> Callable[[nn.Module], Any]:
    """Calls, then a change of the module, then calls."""

    def use(module: nn.Module) -> Any:
        torch.manual_seed(2)
        found = batches(module)
        change(module)
        return [*found, *batches(module)]

    return use


class Tied(nn.Module):
    def __init__(self, tied: bool) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        self.drop, self.act, self.scale = nn.Dropout(0.0), torch.tanh, [1.0, 2.0]
        self.shift = types.SimpleNamespace(by=1.0)
        self.mask = (torch.ones(4),)
        if tied:
            self.b.weight = self.a.weight

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.act(self.a(x) * self.mask[0]) * self.scale[1] * SCALE + self.shift.by
        return self.b(self.drop(y))  # type: ignore[no-any-return]


def untied(module: Any) -> None:
    module.b.weight = nn.Parameter(torch.full((4, 4), 0.3))


def tied_later(module: Any) -> None:
    module.b.weight = module.a.weight


def patched(module: Any) -> None:
    module.a.forward = lambda x: nn.functional.linear(x, module.a.weight) * 3


def hooked(module: Any) -> None:
    module.a.register_forward_pre_hook(lambda _, given: (given[0] * 3,))


def replaced(module: Any) -> None:
    torch.manual_seed(3)
    module.a = nn.Linear(4, 4)


def other_activation(module: Any) -> None:
    module.act = torch.relu


def other_item(module: Any) -> None:
    module.scale[1] = 5.0


def other_field(module: Any) -> None:
    module.shift.by = 5.0


def other_mask(module: Any) -> None:
    module.mask[0][1] = 0.0


def other_global(module: nn.Module) -> Any:
    global SCALE
    found = []
    for SCALE in (2.0, 5.0, 2.0):  # noqa: B007
        found += batches(module)
    return found


def normalized_later(module: Any) -> None:
    torch.nn.utils.parametrizations.weight_norm(module.a)


def assigned(module: Any) -> None:
    state = {name: torch.full_like(value, 0.2) for name, value in module.state_dict().items()}
    module.load_state_dict(state, assign=True)


def frozen(module: Any) -> None:
    module.a.requires_grad_(False)


def with_functional_call(module: Any) -> Any:
    """Other parameters for one call, by torch.func, and the module's own again."""
    found = batches(module)
    given = {name: value * 2 for name, value in module.named_parameters()}
    x = torch.randn(3, 4)
    found.append([torch.func.functional_call(module, given, (x,))])
    found.append([torch.func.vmap(module)(torch.randn(3, 2, 4))])
    return [*found, *batches(module)]


def as_container(module: Any) -> Any:
    """A Sequential as a list: items set, added, taken away."""
    x = torch.randn(3, 4)
    torch.manual_seed(3)
    found = [step(module, x)]
    module[2] = nn.Linear(8, 5)
    found.append(step(module, x))
    module.append(nn.Tanh())
    found.append(step(module, x))
    module.insert(0, nn.Linear(4, 4))
    del module[-1]
    found.append(step(module, x))
    names = [type(each).__name__ for each in module]
    return [found, names, len(module), module[1] in list(module), type(module[1:]).__name__]


def tied(yes: bool) -> Callable[[], nn.Module]:
    return lambda: Tied(yes)


BETWEEN: dict[str, UseCase] = {
    "untied": UseCase(tied(True), between(untied)),
    "tied-later": UseCase(tied(False), between(tied_later)),
    "patched-forward": UseCase(tied(False), between(patched)),
    "hooked-later": UseCase(tied(False), between(hooked), warns="hook that is registered on 'a'"),
    "replaced-layer": UseCase(tied(False), between(replaced), sweep=True),
    "other-activation": UseCase(tied(False), between(other_activation), sweep=True),
    "other-item": UseCase(tied(False), between(other_item)),
    "other-field": UseCase(tied(False), between(other_field), sweep=True),
    "other-mask": UseCase(tied(False), between(other_mask), sweep=True),
    "other-global": UseCase(tied(False), other_global, sweep=True),
    "normalized-later": UseCase(tied(False), between(normalized_later), sweep=True),
    "assigned-state": UseCase(tied(False), between(assigned), sweep=True),
    "frozen-layer": UseCase(tied(False), between(frozen), 2, sweep=True),
    "functional-call": UseCase(tied(False), with_functional_call, sweep=True),
    "container": UseCase(network, as_container),
}
"""Modules that are changed from outside between two calls."""

CASES = {f"within:{name}": case for name, case in WITHIN.items()}
CASES |= {f"between:{name}": case for name, case in BETWEEN.items()}

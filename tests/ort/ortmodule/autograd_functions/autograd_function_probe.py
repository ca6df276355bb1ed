"""Trains modules with custom autograd functions under PyTorch and ORTModule, and compares.

Runs in a process of its own:

    python -m tests.ort.ortmodule.autograd_functions.autograd_function_probe RESULT_JSON
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from tests.answers import write_answers
from tests.ort.ortmodule.autograd_functions import autograd_function_cases as cases
from tests.ort.ortmodule.autograd_functions.autograd_function_cases import FUNCTION_CASES, USUAL
from tests.ort.ortmodule.cases import Call, Case
from tests.ort.ortmodule.probe import (
    BATCH,
    STEPS,
    loss_of,
    nesting,
    pair,
    relative,
    state_difference,
)
from workbench import ORTModule
from workbench.errors import WorkbenchError
from workbench.ort.graph.profiles import profiled
from workbench.ort.ortmodule.operator_profile import step_timings
from workbench.run_folder.operator_timing import PASSES, StepWindow

Answer = dict[str, Any]


def compare(case: Case) -> Answer:
    """20 SGD steps with batches of changing size, the gradients of each, and state afterwards."""
    plain, wrapped = pair(case)
    optimizers = [torch.optim.SGD(module.parameters(), lr=0.05) for module in (plain, wrapped)]
    torch.manual_seed(1)
    losses, gradients = [], []
    for step in range(STEPS):
        call = case.call(BATCH + step % 3)
        results = [module(*call.args, **call.kwargs) for module in (plain, wrapped)]
        both = [loss_of(result) for result in results]
        for loss, optimizer in zip(both, optimizers, strict=True):
            optimizer.zero_grad()
            loss.backward()
        gradients.append(gradient_difference(plain, wrapped))
        for optimizer in optimizers:
            optimizer.step()
        losses.append([loss.item() for loss in both])
    return {
        "losses": losses,
        "gradients": gradients,
        "nesting": [nesting(result) for result in results],
        "state": state_difference(plain, wrapped),
        "graphs": len(wrapped._graphs.built),
        "segments": len(wrapped.built_graphs),
        "functions": len(wrapped.functions),
    }


def gradient_difference(plain: nn.Module, wrapped: nn.Module) -> float:
    """The largest, relative to the largest gradient of its parameter."""
    pairs = [
        (one.grad, other.grad)
        for one, other in zip(plain.parameters(), wrapped.parameters(), strict=True)
    ]
    given = [(one, other) for one, other in pairs if one is not None and other is not None]
    assert sum(one is not None or other is not None for one, other in pairs) == len(given) > 0
    # Biases before a BatchNorm have a gradient of zero but for rounding.
    floor = 0.1 * max(float(one.abs().max()) for one, _ in given)
    return max(relative(one, other, floor) for one, other in given)


def what_ran() -> Answer:
    """The functions that PyTorch ran, and whether they are afterwards what they were."""
    kinds = [each for each in vars(cases).values() if isinstance(each, type)]
    functions = [each for each in kinds if issubclass(each, Function)]
    before = [(each, each.__dict__.get("forward"), each.forward) for each in functions]
    plain, wrapped = pair(FUNCTION_CASES["both-styles"])
    results = [module(torch.ones(2, 4)) for module in (plain, wrapped)]
    return {
        "functions": wrapped.functions,
        "segments": len(wrapped.built_graphs),
        "restored": all(
            each.__dict__.get("forward") is own and each.forward is found
            for each, own, found in before
        ),
        "require_grad": [[each.requires_grad for each in result] for result in results],
    }


def accumulation() -> Answer:
    """A batch of one; then two backward passes before a step, both forward passes under way."""
    case = FUNCTION_CASES["saved"]
    plain, wrapped = pair(case)
    one = case.call(1).args
    single = relative(plain(*one), wrapped(*one))
    calls = [case.call(batch) for batch in (BATCH, BATCH + 1)]
    for module in (plain, wrapped):
        losses = [loss_of(module(*call.args)) for call in calls]
        for loss in losses:
            loss.backward()
    return {"difference": gradient_difference(plain, wrapped), "one": single}


class Begins(nn.Module):
    """A function that takes an argument of the module, with gradients and without."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(cases.Softened.apply(x)) + x
        with torch.no_grad():
            stopped = cases.Softened.apply(x) + cases.Softened.apply(y) + x * 2
        return y + stopped


def input_gradient() -> Answer:
    """With every parameter frozen and without."""
    plain, wrapped = pair(Case(Begins, lambda _: Call(())))
    given = torch.randn(BATCH, 4)
    found = []
    for trained in (True, False):
        for module in (plain, wrapped):
            module.requires_grad_(trained)
            x = given.clone().requires_grad_()
            found += torch.autograd.grad(loss_of(module(x)), [x])
    return {"trained": relative(found[0], found[1]), "frozen": relative(found[2], found[3])}


class Dropping(nn.Module):
    """Dropout on both sides of a function, and a function that draws."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 400)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = nn.functional.dropout(self.layer(x), 0.25, self.training)
        z = cases.Softened.apply(y)
        return y, nn.functional.dropout(z, 0.5, self.training)


def dropout() -> Answer:
    torch.manual_seed(3)
    wrapped = ORTModule(Dropping())
    state = torch.get_rng_state()
    wrapped.build_for(torch.ones(8, 4))
    untouched = torch.equal(state, torch.get_rng_state())
    first, _ = wrapped(torch.ones(8, 4))
    before, after = wrapped(torch.ones(8, 4))
    after.sum().backward()
    gradient = wrapped.get_parameter("layer.weight").grad
    assert gradient is not None
    kept = (before != 0) & (after != 0)
    # Twice 0.4, and 1 / 0.75, for each that neither dropped.
    expected = kept.sum(0) * (2 * 0.4 / 0.75)
    return {
        "kept": float((before != 0).float().mean()),
        "both": float(kept.float().mean()),
        "anew": float((first != before).float().mean()),
        "gradient": relative(expected[:, None].expand(-1, 4), gradient),
        "generator_untouched": untouched,
    }


def profile() -> Answer:
    """The nodes of all segments, whose sessions are loaded within one second."""
    with TemporaryDirectory() as folder, profiled(Path(folder)):
        _, wrapped = pair(FUNCTION_CASES["straight-through"])
        x = torch.randn(BATCH, 4)
        loss_of(wrapped(x)).backward()
        start = time.time_ns()
        loss_of(wrapped(x)).backward()
        (timings,) = step_timings(wrapped, [StepWindow(start, time.time_ns())])
    return {part: [each.op for each in timings if each.part == part] for part in PASSES}


class Moody(Function):
    """Marks its result as non-differentiable, or not."""

    differentiable = False

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x * 2
        if not Moody.differentiable:
            ctx.mark_non_differentiable(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


class UsesMoody(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.last(Moody.apply(self.first(x)))
        return y


def changing() -> Answer:
    wrapped = ORTModule(UsesMoody())
    wrapped(torch.ones(2, 4)).sum().backward()
    assert wrapped.get_parameter("first.weight").grad is None
    Moody.differentiable = True
    try:
        wrapped(torch.ones(2, 4))
    except WorkbenchError as error:
        return {"message": f"{type(error).__name__}: {error}"}
    return {"message": "nothing was raised"}


class Decides(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2 if x.max() > 0 else x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


class InPlace(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


class Applies(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        return function(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


class Refused(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.layer = kind, nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.layer(x)
        made: Tensor
        if self.kind == "closure":
            made = Applies.apply(y, lambda value: value + y)
        elif self.kind == "defined within":

            class Within(Function):
                @staticmethod
                def forward(ctx: Any, x: Tensor) -> Tensor:
                    return x.round()

                @staticmethod
                def backward(ctx: Any, gradient: Tensor) -> Tensor:
                    return gradient

            made = Within.apply(y)
        elif self.kind == "checkpoint":
            made = torch.utils.checkpoint.checkpoint(self.layer, y, use_reentrant=True)
        else:
            made = {"values": Decides, "in place": InPlace}[self.kind].apply(y)
        return made


def refusal(kind: str) -> str:
    module = Refused(kind)
    state = copy.deepcopy(module.state_dict())
    message = "nothing was raised"
    try:
        ORTModule(module)(torch.randn(3, 4))
    except WorkbenchError as error:
        message = f"{type(error).__name__}: {error}"
    assert all(torch.equal(state[name], value) for name, value in module.state_dict().items())
    return message


REFUSED = ("values", "in place", "closure", "defined within", "checkpoint")
SWEPT = tuple(f"refused: {kind}" for kind in REFUSED[2:])

PARTS: dict[str, Callable[[], Any]] = {
    "what_ran": what_ran,
    "accumulation": accumulation,
    "input_gradient": input_gradient,
    "dropout": dropout,
    "changing": changing,
    "profile": profile,
    **{f"refused: {kind}": partial(refusal, kind) for kind in REFUSED},
}


def main() -> None:
    cases = {name: partial(compare, case) for name, case in USUAL.items()}
    write_answers({**cases, **PARTS}, SWEPT)


if __name__ == "__main__":
    main()

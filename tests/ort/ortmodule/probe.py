"""Trains modules under PyTorch and under ORTModule side by side and writes down what differs.

Runs in a process of its own, for native code that dies must fail a test and not end the suite:

    python -m tests.ort.ortmodule.probe RESULT_JSON
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tests.answers import write_answers
from tests.ort.ortmodule.cases import CASES, USUAL, Case
from workbench import ORTModule
from workbench.errors import WorkbenchError

BATCH = 6
STEPS = 20

Answer = dict[str, Any]


def tensors_of(result: Any) -> Iterator[Tensor]:
    """The tensors of a nested result, from left to right."""
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, dict):
        yield from (found for item in result.values() for found in tensors_of(item))
    elif isinstance(result, list | tuple):
        yield from (found for item in result for found in tensors_of(item))


def loss_of(result: Any) -> Tensor:
    """A number that depends on every element of every float tensor, differently."""
    losses = []
    for place, tensor in enumerate(tensors_of(result)):
        if tensor.is_floating_point():
            weights = torch.linspace(0.5, 1.5, tensor.numel()).reshape(tensor.shape)
            losses.append(((tensor * weights) ** 2).mean() * (place + 1))
    return torch.stack(losses).sum()


def nesting(result: Any) -> Any:
    """The containers of a result, with the shapes and dtypes of its tensors."""
    if isinstance(result, Tensor):
        return [str(result.dtype), list(result.shape)]
    if isinstance(result, dict):
        return {"dict": {key: nesting(item) for key, item in result.items()}}
    if isinstance(result, list | tuple):
        return {type(result).__name__: [nesting(item) for item in result]}
    return repr(result)


def pair(case: Case) -> tuple[nn.Module, ORTModule]:
    """The same module twice, the second under ORTModule."""
    torch.manual_seed(0)
    plain = case.build()
    return plain, ORTModule(copy.deepcopy(plain))


def relative(one: Tensor, other: Tensor, floor: float = 1e-3) -> float:
    """Largest difference, as a part of the largest number, which counts as `floor` at least."""
    one, other = one.detach(), other.detach()
    return float((one - other).abs().max()) / max(float(one.abs().max()), floor)


def compare(case: Case) -> Answer:
    plain, wrapped = pair(case)
    call = case.call(BATCH)
    results = plain(*call.args, **call.kwargs), wrapped(*call.args, **call.kwargs)
    losses = [loss_of(result) for result in results]
    for loss in losses:
        loss.backward()
    gradients = {}
    ours = dict(wrapped.named_parameters())
    given = [parameter.grad for parameter in plain.parameters() if parameter.grad is not None]
    # Biases before a BatchNorm have a gradient of zero but for rounding.
    floor = 0.1 * max(float(gradient.abs().max()) for gradient in given)
    for name, parameter in plain.named_parameters():
        got = ours[name].grad
        if parameter.grad is None or got is None:
            gradients[name] = 0.0 if parameter.grad is got else float("inf")
        else:
            gradients[name] = relative(parameter.grad, got, floor)
    return {
        "loss": abs(losses[0] - losses[1]).item() / max(1.0, losses[0].item()),
        "gradients": gradients,
        "tolerance": case.tolerance,
        "nesting": [nesting(result) for result in results],
        "keys": list(plain.state_dict()) == list(wrapped.state_dict()),
        "names": [name for name, _ in plain.named_parameters()] == list(ours),
        "training": train(case, (plain, wrapped)),
    }


def train(case: Case, modules: tuple[nn.Module, ORTModule]) -> Answer:
    """Loss of 20 SGD steps with batches of changing size, and state afterwards."""
    for module in modules:
        module.zero_grad()
    optimizers = [torch.optim.SGD(module.parameters(), lr=0.05) for module in modules]
    torch.manual_seed(1)
    worst = 0.0
    for step in range(STEPS):
        call = case.call(BATCH + step % 3)
        losses = []
        for module, optimizer in zip(modules, optimizers, strict=True):
            loss = loss_of(module(*call.args, **call.kwargs))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        worst = max(worst, abs(losses[0] - losses[1]) / max(1.0, losses[0]))
    return {
        "loss": worst,
        "graphs": len(modules[1].built_graphs),
        "state": state_difference(*modules),
    }


def state_difference(plain: nn.Module, wrapped: nn.Module) -> dict[str, float]:
    theirs, ours = plain.state_dict(), wrapped.state_dict()
    return {name: float((theirs[name] - ours[name]).abs().max()) for name in theirs}


def batch_norm() -> Answer:
    """Statistics after 50 steps without a change of weights, then evaluation."""
    plain, wrapped = pair(CASES["digits-cnn"])
    torch.manual_seed(2)
    for step in range(50):
        (images,) = CASES["digits-cnn"].call(4 + step % 5).args
        for module in (plain, wrapped):
            module(images * 3 + 1)
    state = state_difference(plain, wrapped)
    plain.eval()
    wrapped.eval()
    counted = int(wrapped.state_dict()["norm1.num_batches_tracked"])
    return {
        "state": state,
        "batches": counted,
        "evaluation": relative(plain(images), wrapped(images)),
    }


def modes() -> Answer:
    plain, wrapped = pair(CASES["buffers"])
    call = CASES["buffers"].call(BATCH)
    wrapped(*call.args)
    plain(*call.args)
    graphs = len(wrapped.built_graphs) + 1
    before = copy.deepcopy(wrapped.state_dict())
    wrapped.build_for(*CASES["buffers"].call(2 * BATCH).args)
    wrapped.build_for(CASES["buffers"].call(BATCH).args[0].requires_grad_())
    wrapped.eval()
    evaluated = wrapped(*call.args)
    unchanged = all(torch.equal(before[key], value) for key, value in wrapped.state_dict().items())
    plain.eval()
    difference = relative(plain(*call.args), evaluated)
    with torch.no_grad():
        free = not wrapped(*call.args).requires_grad
    wrapped.train()
    plain.train()
    with torch.no_grad():
        difference = max(difference, relative(plain(*call.args), wrapped(*call.args)))
    difference = max(difference, *state_difference(plain, wrapped).values())
    wrapped(*call.args).sum().backward()
    inner = [module.training for module in wrapped.wrapped.modules()]
    return {
        "difference": difference,
        "unchanged": unchanged,
        "free": free,
        "graphs": [graphs, len(wrapped.built_graphs)],
        "inner": all(inner),
    }


def mixed_modes() -> Answer:
    """Layers in evaluation mode within a module that trains, then another choice of them."""
    torch.manual_seed(0)
    plain = nn.Sequential(
        nn.Linear(4, 6, bias=False),
        nn.BatchNorm1d(6),
        nn.Dropout(0.5),
        nn.Linear(6, 5, bias=False),
        nn.BatchNorm1d(5),
        nn.Linear(5, 3),
    )
    plain.get_buffer("1.running_mean").add_(0.3)
    plain.get_buffer("4.running_var").mul_(2)
    plain[2].eval()
    wrapped = ORTModule(copy.deepcopy(plain))
    worst, kept = 0.0, True
    for place in ("1", "4"):
        for module in (plain, wrapped):
            module.get_submodule(place).eval()
        before = wrapped.get_buffer(f"{place}.running_mean").clone()
        for _ in range(50):
            x = torch.randn(BATCH, 4)
            gradients = []
            for module in (plain, wrapped):
                module.zero_grad()
                loss_of(module(x)).backward()
                gradients.append([each.grad for each in module.parameters()])
            # Of a bias before a BatchNorm it is zero but for rounding.
            worst = max(worst, *(relative(a, b, 0.1) for a, b in zip(*gradients, strict=True)))
        kept = kept and torch.equal(before, wrapped.get_buffer(f"{place}.running_mean"))
        for module in (plain, wrapped):
            module.get_submodule(place).train()
    return {
        "gradient": worst,
        "state": state_difference(plain, wrapped),
        "kept": kept,
        "graphs": len(wrapped.built_graphs),
    }


def freezing() -> Answer:
    """Frozen parameters get no gradient; another choice gets a graph of its own."""
    plain, wrapped = pair(CASES["digits-mlp"])
    call = CASES["digits-mlp"].call(BATCH)
    worst, given = 0.0, []
    for frozen in (("hidden1.",), ("output.", "hidden1.weight"), ()):
        for module in (plain, wrapped):
            module.zero_grad()
            for name, parameter in module.named_parameters():
                parameter.requires_grad_(not name.startswith(frozen or "-"))
            loss_of(module(*call.args)).backward()
        theirs, ours = dict(plain.named_parameters()), dict(wrapped.named_parameters())
        given.append(sorted(name for name, value in ours.items() if value.grad is not None))
        assert given[-1] == sorted(n for n, value in theirs.items() if value.grad is not None)
        worst = max(worst, *(relative(theirs[n].grad, ours[n].grad) for n in given[-1]))  # type: ignore[arg-type]
    return {"gradient": worst, "given": given, "graphs": len(wrapped.built_graphs)}


def input_gradients() -> Answer:
    plain, wrapped = pair(CASES["digits-cnn"])
    (image,) = CASES["digits-cnn"].call(BATCH).args
    found = []
    for module in (plain, wrapped):
        x = image.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss_of(module(x)), [x])
        found.append(gradient)
    frozen = wrapped.requires_grad_(False)
    x = image.clone().requires_grad_()
    (alone,) = torch.autograd.grad(loss_of(frozen(x)), [x])
    return {"difference": relative(*found), "alone": relative(found[0], alone)}


def memory() -> Answer:
    """Other memory under a parameter, loaded state, accumulated gradients, what PyTorch holds."""
    plain, wrapped = pair(CASES["digits-mlp"])
    call = CASES["digits-mlp"].call(BATCH)

    def difference() -> float:
        return relative(plain(*call.args), wrapped(*call.args))

    answer = {"before": difference()}
    with torch.no_grad():
        for module in (plain, wrapped):
            module.output.weight.data = module.output.weight.data.clone() * 3  # type: ignore[union-attr]
            module.hidden1.bias = nn.Parameter(torch.ones(128))
    answer["other_memory"] = difference()
    for module in (plain, wrapped):
        weight = torch.arange(64 * 128, dtype=torch.float32).reshape(128, 64).T / 1e4
        module.hidden2.weight = nn.Parameter(weight)
    assert not wrapped.hidden2.weight.is_contiguous()
    answer["not_contiguous"] = difference()
    with torch.no_grad():
        for module in (plain, wrapped):
            module.hidden2.weight.mul_(2)  # type: ignore[operator, union-attr]
    answer["not_contiguous_changed"] = difference()
    wrapped.load_state_dict(CASES["digits-mlp"].build().state_dict())
    plain.load_state_dict(wrapped.state_dict())
    answer["loaded"] = difference()
    for module in (plain, wrapped):
        for _ in range(2):
            loss_of(module(*call.args)).backward()
    theirs, ours = dict(plain.named_parameters()), dict(wrapped.named_parameters())
    answer["accumulated"] = max(relative(theirs[n].grad, ours[n].grad) for n in theirs)  # type: ignore[arg-type]
    (image,) = call.args
    answer["strided_input"] = relative(plain(image.transpose(2, 3)), wrapped(image.transpose(2, 3)))
    one = image[:1]
    answer["batch_of_one"] = relative(plain(one), wrapped(one))
    for module in (plain, wrapped):
        module.output = nn.Linear(64, 7)
    plain.output.load_state_dict(wrapped.output.state_dict())  # type: ignore[union-attr]
    answer["replaced_submodule"] = difference()
    for module in (plain, wrapped):
        module.get_submodule("hidden2").bias = None  # type: ignore[assignment]
    answer["bias_taken_away"] = difference()
    return answer


class Shapes(nn.Module):
    """Results that share memory with each other, with arguments or parameters, were they views."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.one, self.other = nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(3))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        hidden = torch.relu(self.first(x))
        last = self.second(hidden)
        match self.kind:
            case "activation":
                return (torch.relu(last),)
            case "reshaped":
                return torch.sigmoid(last).reshape(-1, 4, 2), hidden.flatten()
            case "sliced":
                return hidden[:, :4], last.transpose(0, 1), hidden
            case _:
                return last, x, self.one, self.one + self.other


def results_stay() -> Answer:
    """Results and gradients that the user holds survive the backward passes."""
    answer = {}
    for kind in ("activation", "reshaped", "sliced", "parameters"):
        torch.manual_seed(0)
        wrapped = ORTModule(Shapes(kind))
        x = torch.randn(16, 8)
        changed = []
        for _ in range(2):
            one, two = wrapped(x), wrapped(2 * x)
            given = [torch.randn_like(result) for result in one]
            now = [*one, *two, *given, x]
            held = [tensor.detach().clone() for tensor in now]
            for results in (two, one):
                pairs = [p for p in zip(results, given, strict=True) if p[0].requires_grad]
                torch.autograd.backward(*zip(*pairs, strict=True))
            for parameter in wrapped.parameters():
                if parameter.grad is not None:
                    parameter.grad.fill_(7)
            changed += [float((a - b.detach()).abs().max()) for a, b in zip(held, now, strict=True)]
            wrapped.zero_grad()
        answer[kind] = max(changed)
    return answer


def seeded_dropout() -> Answer:
    """Dropout draws anew at every step, in the proportion asked for, and alike for one seed."""
    found = []
    for _ in range(2):
        torch.manual_seed(3)
        wrapped = ORTModule(nn.Sequential(nn.Linear(4, 1000), nn.Dropout(0.25)))
        with torch.no_grad():
            wrapped.get_parameter("0.bias").fill_(1)
            wrapped.get_parameter("0.weight").fill_(0)
        found.append([wrapped(torch.zeros(8, 4)).detach() for _ in range(2)])
    (one, two), again = found
    return {
        "kept": float((one != 0).float().mean()),
        "anew": float((one != two).float().mean()),
        "alike": all(torch.equal(a, b) for a, b in zip((one, two), again, strict=True)),
    }


class Determinant(nn.Module):
    """ONNX Runtime computes it and cannot differentiate it."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = torch.linalg.det(x * self.scale)
        return y


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        return y if y.sum().item() > 0 else -y


class Strange(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> object:
        return {self.linear(x)}


def refusals() -> Answer:
    """The message of each thing that cannot be done."""

    def message(act: Callable[[], object]) -> str:
        try:
            act()
        except WorkbenchError as error:
            return f"{type(error).__name__}: {error}"
        return "nothing was raised"

    x = torch.randn(4, 4)
    fine = ORTModule(nn.Linear(4, 4))
    again = fine(x).sum()
    again.backward(retain_graph=True)
    twice = fine(x).sum()
    untrainable = Determinant()
    state = copy.deepcopy(untrainable.state_dict())
    answer = {
        "operator": message(lambda: ORTModule(untrainable)(torch.randn(3, 4, 4))),
        "branch": message(lambda: ORTModule(Branches())(x)),
        "argument": message(lambda: fine({1, 2})),
        "result": message(lambda: ORTModule(Strange())(x)),
        "backward_twice": message(again.backward),
        "second_derivative": message(
            lambda: torch.autograd.grad(twice, list(fine.parameters()), create_graph=True)
        ),
        "device": message(lambda: fine(x.to("meta"))),
    }
    answer["unchanged"] = str(
        untrainable.training
        and all(torch.equal(state[key], value) for key, value in untrainable.state_dict().items())
    )
    return answer


def untouched_torch() -> Answer:
    """Which functions of torch are ONNX Runtime's instead."""
    import torch.utils.checkpoint

    return {
        "checkpoint": torch.utils.checkpoint.checkpoint.__module__,
        "front_end": [name for name in sys.modules if name.startswith("onnxruntime.training")],
    }


PARTS: dict[str, Callable[[], Answer]] = {
    "batch_norm": batch_norm,
    "modes": modes,
    "mixed_modes": mixed_modes,
    "freezing": freezing,
    "input_gradients": input_gradients,
    "memory": memory,
    "results_stay": results_stay,
    "seeded_dropout": seeded_dropout,
    "refusals": refusals,
    "untouched_torch": untouched_torch,
}


def main() -> None:
    cases = {name: partial(compare, case) for name, case in USUAL.items()}
    write_answers({**cases, **PARTS})


if __name__ == "__main__":
    main()

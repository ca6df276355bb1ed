"""Uses each module of the table plainly and under ORTModule, and writes down what differs.

Runs in a process of its own, for native code that dies must fail a test and not end the suite:

    python -m tests.ort.ortmodule.calls.usage_probe RESULT_JSON [NAME ...]
"""

from __future__ import annotations

import dataclasses
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tests.answers import write_answers
from tests.ort.ortmodule.calls.effect_cases import CASES as EFFECTS
from tests.ort.ortmodule.calls.refusal_cases import CASES as REFUSED
from tests.ort.ortmodule.calls.refusal_cases import Refusal
from tests.ort.ortmodule.calls.usage_cases import CASES, UseCase
from workbench import ORTModule

Answer = dict[str, Any]


def compare(case: UseCase) -> Answer:
    plain, wrapped = seeded(case), ORTModule(seeded(case))
    found: list[Any] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for module in (plain, wrapped):
            torch.manual_seed(1)
            found.append(case.use(module))
    worst, where, unequal = difference(*found, "result")
    return {
        "difference": worst,
        "at": where,
        "unequal": unequal,
        "graphs": len(wrapped.built_graphs),
        "warnings": sorted({str(each.message) for each in warned}),
        "pytorch_calls": dict(wrapped.pytorch_calls),
        "tolerance": case.tolerance,
    }


def refuse(case: Refusal) -> Answer:
    """The error, and what it changed of the module."""
    torch.manual_seed(0)
    module = case.build()
    wrapped = ORTModule(module)
    before = snapshot(module)
    try:
        case.act(wrapped)
        message = "nothing was raised"
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    after = snapshot(module)
    changed = [name for name in before if before[name] != after.get(name)]
    return {"message": message, "changed": changed + sorted(set(after) - set(before))}


def snapshot(module: nn.Module) -> dict[str, Any]:
    """Everything that an export might leave different, by name."""
    found: dict[str, Any] = {"random": torch.get_rng_state().sum().item()}
    for name, each in module.named_modules():
        found[f"{name}:training"] = each.training
        found[f"{name}:attributes"] = sorted(vars(each))
        found[f"{name}:hooks"] = [
            list(value.values()) for key, value in vars(each).items() if "hooks" in key
        ]
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        values = None if tensor.is_meta else tensor.detach().tolist()
        found[name] = [id(tensor), tensor.requires_grad, str(values)]
    return found


def seeded(case: UseCase) -> nn.Module:
    torch.manual_seed(0)
    return case.build()


def difference(one: Any, other: Any, where: str) -> tuple[float, str, list[str]]:
    """The largest difference of two tensors in the same place, that place, and what is unequal."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        if one.dtype != other.dtype or one.shape != other.shape:
            kinds = [(each.dtype, tuple(each.shape)) for each in (one, other)]
            return 0.0, where, [f"{where}: {kinds[0]} and {kinds[1]}"]
        if one.numel() == 0:
            return 0.0, where, []
        a, b = one.detach().double(), other.detach().double()
        return float((a - b).abs().max()) / max(1.0, float(a.abs().max())), where, []
    if dataclasses.is_dataclass(one) and type(one) is type(other):
        one, other = vars(one), vars(other)
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        parts = [difference(one[key], other[key], f"{where}.{key}") for key in one]
    elif isinstance(one, list | tuple) and type(one) is type(other) and len(one) == len(other):
        pairs = zip(one, other, strict=True)
        parts = [difference(a, b, f"{where}.{i}") for i, (a, b) in enumerate(pairs)]
    else:
        return 0.0, where, [] if one == other else [f"{where}: {one!r} and {other!r}"]
    worst = max(parts, key=lambda part: part[0], default=(0.0, where, []))
    return worst[0], worst[1], [text for part in parts for text in part[2]]


def tried(run: Callable[[], Answer]) -> Answer:
    """The result of `run`, or its error: one case that fails is one test that fails."""
    try:
        return run()
    except Exception:
        return {"error": traceback.format_exc()[-4000:]}


def main() -> None:
    runs: dict[str, Callable[[], Answer]] = {
        **{name: partial(compare, case) for name, case in (CASES | EFFECTS).items()},
        **{f"refused:{name}": partial(refuse, case) for name, case in REFUSED.items()},
    }
    names = sys.argv[2:] or list(runs)
    write_answers({name: partial(tried, runs[name]) for name in names})


if __name__ == "__main__":
    main()

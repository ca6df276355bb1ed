"""Uses each module of the table plainly and under ORTModule, and writes down what differs.

Runs in a process of its own, for native code that dies must fail a test and not end the suite:

    python -m tests.ort.ortmodule.usage_probe RESULT_JSON [PATTERN]
"""

from __future__ import annotations

import dataclasses
import json
import sys
import traceback
import warnings
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tests.ort.ortmodule.usage_cases import CASES, UseCase
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


def main() -> None:
    path = Path(sys.argv[1])
    pattern = sys.argv[2] if len(sys.argv) > 2 else "*"
    torch.set_num_threads(1)
    answers: Answer = {}
    for name, case in CASES.items():
        if not fnmatch(name, pattern):
            continue
        try:
            answers[name] = compare(case)
        except Exception:
            answers[name] = {"error": traceback.format_exc()[-4000:]}
        path.write_text(json.dumps(answers))


if __name__ == "__main__":
    main()

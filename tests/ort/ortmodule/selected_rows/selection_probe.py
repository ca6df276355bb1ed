"""Calls modules with masks that select rows or none, plainly and under ORTModule.

python -m tests.ort.ortmodule.selected_rows.selection_probe RESULT_JSON [KERNELS:NAME ...]
"""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn

from tests.answers import write_answers
from tests.forked import outcome
from tests.ort.ortmodule.calls.usage import gradients
from tests.ort.ortmodule.calls.usage_probe import difference
from tests.ort.ortmodule.selected_rows.selection_cases import CASES, ROWS, Selection
from workbench import ORTModule

OPTIONS: dict[str, dict[str, Any]] = {
    "all": {"pytorch_kernels": "all"},
    "dropout": {"pytorch_kernels": "dropout"},
    "off": {"pytorch_kernels": "off", "device_kernels": False},
}


def compared(case: Selection, options: dict[str, Any]) -> dict[str, Any]:
    """How the calls differ from those of the plain module, and what was printed after the first."""
    # With several threads a new graph is tried with the first call, which may select nothing.
    torch.set_num_threads(1 if case.counts[0] else 2)
    torch.manual_seed(0)
    plain = case.build()
    wrapped = ORTModule(copy.deepcopy(plain), options)
    worst, where, unequal = 0.0, "", []
    printed: list[str] = []
    for number, count in enumerate(case.counts):
        x, mask = torch.randn(ROWS, *case.shape), torch.arange(ROWS) < count
        expected = stepped(plain, x, mask, case)
        with kept_errors(printed):
            found = stepped(wrapped, x, mask, case)
        if case.random and count:
            continue
        far, at, other = difference(expected, found, f"call {number}")
        worst, where = max((worst, where), (far, at))
        unequal += other
    return {
        "difference": worst,
        "at": where,
        "unequal": unequal,
        "printed": "".join(printed[1:]),
        "graphs": len(wrapped.built_graphs),
        "pytorch_calls": dict(wrapped.pytorch_calls),
    }


def stepped(module: nn.Module, x: torch.Tensor, mask: torch.Tensor, case: Selection) -> list[Any]:
    """The result of a call, gradients and buffers."""
    module.zero_grad()
    given = x.clone().requires_grad_()
    with torch.autocast("cpu", enabled=case.autocast):
        result = module(given, mask)
    result.float().square().sum().backward()
    buffers = {name: each.clone() for name, each in module.named_buffers()}
    zero = torch.zeros(())
    of_parameters = {
        name: zero if grad is None or not grad.any() else grad
        for name, grad in gradients(module).items()
    }
    return [result.detach(), given.grad, of_parameters, buffers]


@contextmanager
def kept_errors(into: list[str]) -> Iterator[None]:
    """Context in which what native code prints as an error is added to `into`."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            into.append(file.read().decode())


def main() -> None:
    write_answers(
        {
            f"{kernels}:{name}": partial(outcome, partial(compared, case, options))
            for kernels, options in OPTIONS.items()
            for name, case in CASES.items()
        }
    )


if __name__ == "__main__":
    main()

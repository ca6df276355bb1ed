"""Random modules on padded batches under ORTModule, beside PyTorch; each in a fork.

    python -m tests.ort.ortmodule.padding.random_padding SEED [PART ...]

prints what is drawn for a seed and what came of it; of PARTs in place of those that are drawn.
"""

from __future__ import annotations

import copy
import resource
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests.answers import write_answers
from tests.forked import outcome
from tests.ort.ortmodule.padding.random_parts import WORDS
from tests.ort.ortmodule.padding.random_plan import MARKS, Drawn, Plan, drawn
from tests.parity import warm_up
from workbench import ORTModule
from workbench.export import torchscript_exporter
from workbench.export.torchscript_exporter import export_by_tracing
from workbench.ort.native import native
from workbench.ort.ortmodule.capture import export

LONGEST_S = 120
"""Of processor time: a seed takes up to ten seconds."""

FLOOR = 0.01
"""Part of the largest gradient below which a parameter's own largest does not count: that of a bias
before a softmax is rounding noise alone."""

SHAPES = ((4, 7), (3, 9), (5, 6), (6, 6))
"""Sequences and tokens of the batches."""


class Batch(NamedTuple):
    """Arguments, and which tokens count."""

    arguments: tuple[Tensor, Tensor, Tensor]
    keep: Tensor


def batches(plan: Plan) -> Iterable[Batch]:
    """Batches with a full sequence, one of a token, and in all but the first one of padding."""
    for number, (rows, length) in enumerate(SHAPES):
        counts = torch.randint(1, length + 1, (rows,))
        counts[:3] = torch.tensor([length, 1, 0 if plan.alone and number else 2])
        counts = counts[torch.randperm(rows)]
        order = torch.arange(length).expand(rows, -1)
        if plan.side == "left":
            order = order.flip(1)
        elif plan.side == "anywhere":
            order = torch.rand(rows, length).argsort(1)
        keep = order < counts.unsqueeze(1)
        # Where another argument marks padding, 0 is a word as all others.
        tokens = torch.randint(int(plan.marks == "tokens that are 0"), WORDS, keep.shape)
        tokens = tokens * keep if plan.zeros else tokens
        labels = torch.randint(WORDS, keep.shape)
        labelled = keep & (torch.rand(keep.shape) < 0.7)
        labelled[tuple(keep.nonzero()[0])] = True
        labels = labels.where(labelled, torch.tensor(-100))
        if plan.labels_at_padding:
            labels[0, 0], labels[-1, -1] = 1, 2
        yield Batch((tokens, MARKS[plan.marks].given(keep), labels), keep)


KERNELS = ("all", "dropout")
"""`pytorch_kernels`, of which a machine chooses by what it measures."""

APART = 0.01
"""Differences of gradients from which a batch is repeated: of such a one "apart" has the number,
the kernels, the difference, and those of PyTorch's and ORTModule's repetitions from PyTorch's first
result."""


class Step(NamedTuple):
    """What one module makes of a batch: the results that the loss uses, and the gradients."""

    results: list[Tensor]
    gradients: list[Tensor]

    @property
    def is_finite(self) -> bool:
        return all(bool(each.isfinite().all()) for each in (*self.results, *self.gradients))

    def differences(self, other: Step) -> tuple[float, float]:
        """The largest of the results and of the gradients, as a part of the largest number."""
        results, gradients = (
            [(one - two.to(one.dtype)).abs().max() for one, two in zip(mine, its, strict=True)]
            for mine, its in ((self.results, other.results), (self.gradients, other.gradients))
        )
        floor = FLOOR * max(float(each.abs().max()) for each in self.gradients)
        return (
            max(
                float(each / max(1.0, float(one.abs().max())))
                for each, one in zip(results, self.results, strict=True)
            ),
            max(
                float(each / max(floor, float(one.abs().max())))
                for each, one in zip(gradients, self.gradients, strict=True)
            ),
        )


def step(module: nn.Module, batch: Batch, is_plain: bool) -> Step:
    module.zero_grad()
    # PyTorch's fused attention has wrong gradients where a finite number hides all keys.
    with sdpa_kernel(SDPBackend.MATH) if is_plain else nullcontext():
        found = module(*batch.arguments)
    counted = [each * batch.keep.unsqueeze(-1) if each.dim() == 3 else each for each in found]
    loss = sum((each.square().mean() if each.dim() else each for each in counted), torch.zeros(()))
    loss.backward()
    gradients = [
        torch.zeros_like(each) if each.grad is None else each.grad.clone()
        for each in module.parameters()
    ]
    return Step([each.detach() for each in (*counted, loss)], gradients)


def compared(plan: Plan, seed: int) -> dict[str, Any]:
    """The largest differences of a module under ORTModule from PyTorch's, and what was packed."""
    # What hangs without computing is ended later.
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST_S, LONGEST_S))
    signal.alarm(10 * LONGEST_S)
    if plan.traced:
        export.EXPORTERS = {torchscript_exporter.NAME: export_by_tracing}
    torch.manual_seed(seed)
    plain = Drawn(plan).train()
    with torch.no_grad():
        for each in plain.parameters():
            each.add_(torch.randn_like(each), alpha=0.1)
    modules = {
        kernels: ORTModule(
            copy.deepcopy(plain),
            options={"embedding_sparsity": plan.sparsity, "pytorch_kernels": kernels},
        )
        for kernels in KERNELS
    }
    worst = [0.0, 0.0]
    count = 0
    reports: dict[str, None] = {}
    apart: list[tuple[int, str, float, float, float]] = []
    for batch in batches(plan):
        expected = step(plain, batch, is_plain=True)
        if not expected.is_finite:
            continue
        count += 1
        for kernels, module in modules.items():
            found = step(module, batch, is_plain=False)
            worst = [
                max(pair) if found.is_finite else torch.inf
                for pair in zip(worst, expected.differences(found), strict=True)
            ]
            wrong = expected.differences(found)[1]
            if not wrong <= APART:  # is it so each time, and of which of the two?
                both = step(plain, batch, is_plain=True), step(module, batch, is_plain=False)
                again = (expected.differences(each)[1] for each in both)
                apart.append((count, kernels, wrong, *again))
            report = {each.option: each.reason for each in module.options_report}
            reports[report["embedding_sparsity"]] = None
    return {
        "results": worst[0],
        "gradients": worst[1],
        "batches": count,
        "reports": [*reports],
        "apart": apart,
    }


def answer(seed: int, parts: Sequence[str] = ()) -> dict[str, Any]:
    plan = drawn(seed)
    plan = plan._replace(parts=tuple(parts)) if parts else plan
    return {"plan": plan._asdict(), "outcome": outcome(partial(compared, plan, seed))}


def main() -> None:
    native()
    warm_up()
    torch.set_num_threads(1)
    if sys.argv[1].isdigit():
        print(answer(int(sys.argv[1]), sys.argv[2:]))
    else:
        write_answers({each: partial(answer, int(each)) for each in sys.argv[2:]})


if __name__ == "__main__":
    main()

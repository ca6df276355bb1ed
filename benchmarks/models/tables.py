"""The measurements of `models`, in Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.models.ways import EAGER, Measured, Outcome, aims
from workbench.compare.rounds.statistics import Ratio

ENGINE_COLUMNS = (
    "| model | engine | throughput over eager | aim | ms a step | products alone, of the step "
    "| peak memory over eager | aim | peak MB | start-up, s | loss difference, 20 steps |\n"
    "|---|---|---:|---|---:|---:|---:|---|---:|---:|---:|"
)
ABLATION_COLUMNS = (
    "| model | option | throughput over the default | peak memory over the default |\n"
    "|---|---|---:|---:|"
)
EXPLAINED = (
    "Medians over rounds in lockstep with 95 % intervals; each way in a process of its own, the "
    "first start with empty caches. Memory is the peak resident set of the process. Products "
    "alone: matrix products and convolutions as eager PyTorch does them, at the most operations a "
    "second that this processor was measured to do; above 100 % where less is computed. Loss "
    "difference: the largest from eager in the first 20 steps."
)


def as_markdown(outcomes: Sequence[Outcome], machine: str) -> str:
    """Both tables, what went wrong or was disturbed, and the machine."""
    lines = [EXPLAINED, "", ENGINE_COLUMNS]
    lines += [_engine_row(outcome, each) for outcome in outcomes for each in outcome.engines]
    ablations = [_ablation_row(outcome, each) for outcome in outcomes for each in outcome.ablations]
    if ablations:
        lines += ["", ABLATION_COLUMNS, *ablations]
    lines += ["", *map(_note, outcomes), *_problems(outcomes), "", f"Machine: {machine}", ""]
    return "\n".join(lines)


def _engine_row(outcome: Outcome, each: Measured) -> str:
    fastest, least = ("", "")
    if each.way.startswith("o"):
        throughput, memory = aims(outcome.name, each.way)
        fastest = _met(f"≥ {throughput:g}", each.throughput.median >= throughput)
        least = _met(f"≤ {memory:.2g}", each.memory <= memory)
    over = "1" if each.way == EAGER else _interval(each.throughput)
    return (
        f"| {outcome.name} | `{each.way}` | {over} | {fastest} "
        f"| {_number(1e3 * each.step_s, '.1f')} "
        f"| {_number(each.products, '.0%')} | {_number(each.memory, '.2f')} | {least} "
        f"| {_number(each.peak_mb, '.0f')} | {_number(each.startup_s, '.1f')} "
        f"| {_number(each.loss_difference, '.0e')} |"
    )


def _ablation_row(outcome: Outcome, each: Measured) -> str:
    memory = _number(each.memory, ".2f")
    return f"| {outcome.name} | {each.way} | {_interval(each.throughput)} | {memory} |"


def _note(outcome: Outcome) -> str:
    products = outcome.products
    warning = f" {outcome.warning}" if outcome.warning else ""
    return (
        f"- {outcome.name}: batch {outcome.batch_size}, {outcome.rounds} rounds; products of "
        f"{products.operations / 1e9:.2f} GFLOP a step at {products.per_second / 1e9:.0f} GFLOP/s: "
        f"{1e3 * products.seconds:.1f} ms.{warning}"
    )


def _problems(outcomes: Sequence[Outcome]) -> list[str]:
    return [
        f"- {outcome.name}, {each.way}: {each.problem}"
        for outcome in outcomes
        for each in (*outcome.engines, *outcome.ablations)
        if each.problem
    ]


def _interval(found: Ratio) -> str:
    if math.isnan(found.median):
        return "-"
    return f"{found.median:.2f} ({found.low:.2f} to {found.high:.2f})"


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)


def _met(bound: str, met: bool) -> str:
    return f"{bound}: {'yes' if met else 'no'}"

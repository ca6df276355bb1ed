"""The candidates of `workbench tune`, in lockstep: variants over the default, then families of
operators over the fastest before, then all chosen families over the variant."""

from __future__ import annotations

import math
import os
import tempfile

import workbench as wb
from benchmarks.result import Result
from workbench.settings.kernel_variants import DEFAULT
from workbench.settings.operator_kernels import libraries_of, sentence_of
from workbench.tuning_results.record import Entry, Measured

SAMPLES = ("text-bert", "text-gpt", "hf-classifier", "digits-cnn", "digits-mlp")
QUICK_SAMPLES = ("digits-mlp",)


def measure(quick: bool) -> list[Result]:
    results = []
    # What is kept for this user stays as it is.
    before = os.environ.get("WORKBENCH_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WORKBENCH_CACHE"] = folder
        try:
            for sample in QUICK_SAMPLES if quick else SAMPLES:
                for entry in wb.tune(sample).entries:
                    results += [
                        _result(entry, one) for one in entry.measured if one.variant != DEFAULT
                    ]
                    results += _families(entry)
        finally:
            if before is None:
                del os.environ["WORKBENCH_CACHE"]
            else:
                os.environ["WORKBENCH_CACHE"] = before
    return results


def _families(entry: Entry) -> list[Result]:
    def result(what: str, value: float, low: float, high: float, note: str) -> Result:
        return Result(
            what=f"step of `{entry.model}` on `{entry.engine}`, {what}",
            value=value,
            low=low,
            high=high,
            spread="95 % interval",
            unit="",
            aim=math.inf,
            note=note,
        )

    found = []
    for one in entry.families:
        if one.ratio is not None and one.low is not None and one.high is not None:
            note = f"{one.share:.0%} of the step{'; chosen' if one.chosen else ''}"
            what = f"{one.sentence}, over the fastest before"
            found.append(result(what, one.ratio, one.low, one.high, note))
    if entry.refined is not None:
        all_of = sentence_of(libraries_of(entry.operator_kernels))
        each = entry.refined
        note = f"{each.step_ms:.2f} ms, {each.rounds} rounds"
        found.append(result(f"{all_of}, over the variant", each.ratio, each.low, each.high, note))
    return found


def _result(entry: Entry, one: Measured) -> Result:
    described = entry.described(one.variant)
    [default] = [each for each in entry.measured if each.variant == DEFAULT]
    chosen = "; chosen" if one.variant == entry.chosen else ""
    others = "" if entry.other_cores is None else f"; others used {entry.other_cores:.1f} cores"
    return Result(
        what=f"step of `{entry.model}` on `{entry.engine}`, {described}, over the default",
        value=one.ratio,
        low=one.low,
        high=one.high,
        spread=f"95 % interval over {entry.rounds} rounds",
        unit="",
        aim=math.inf,
        note=f"{one.step_ms:.2f} ms, default {default.step_ms:.2f} ms, batch {entry.batch_size}, "
        f"{entry.threads} threads{others}{chosen}",
    )

"""The variants that `workbench tune` chooses from, each over the default, in lockstep."""

from __future__ import annotations

import math
import os
import tempfile

import workbench as wb
from benchmarks.result import Result
from workbench.kernel_choices.record import Entry, Measured
from workbench.settings.kernel_variants import DEFAULT, VARIANTS

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
        finally:
            if before is None:
                del os.environ["WORKBENCH_CACHE"]
            else:
                os.environ["WORKBENCH_CACHE"] = before
    return results


def _result(entry: Entry, one: Measured) -> Result:
    described = VARIANTS[entry.engine][one.variant].description
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

"""Peak memory of on-device training over PyTorch's, on the same model and batches."""

from __future__ import annotations

import numpy as np

import workbench as wb
from benchmarks.result import Result


def measure(quick: bool) -> list[Result]:
    repeats = 1 if quick else 5
    ratios = []
    for _ in range(repeats):
        comparison = wb.compare("digits-mlp", engines=["pytorch", "ondevice"], steps=60)
        peak = comparison.wait().table()["peak_memory_mb"]
        ratios.append(peak["ondevice"] / peak["pytorch"])
    return [
        Result(
            what="peak resident set, `ondevice` over `pytorch`, digits-mlp",
            value=float(np.median(ratios)),
            low=min(ratios),
            high=max(ratios),
            spread=f"range of {repeats} comparisons",
            unit="",
            aim=1 / 3,
            note=f"last: {peak['ondevice']:.0f} MB over {peak['pytorch']:.0f} MB.",
        )
    ]

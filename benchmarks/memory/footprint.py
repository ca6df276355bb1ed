"""Predicted over measured memory of on-device training, for every sample at two batch sizes."""

from __future__ import annotations

import workbench as wb
from benchmarks.result import Result
from sample_models import SAMPLES
from workbench.artifacts import Artifacts

STEPS = 6


def measure(quick: bool) -> list[Result]:
    """The ratio for each sample; the value is the one that is farther from 1."""
    results = []
    for name in list(SAMPLES)[:2] if quick else SAMPLES:
        model = wb.load_model(name)
        batch = model.defaults["batch_size"]
        ratios = {size: _ratio(name, size) for size in (batch // 2, 2 * batch)}
        errors = {size: abs(ratio - 1) for size, (ratio, _) in ratios.items()}
        results.append(
            Result(
                what=f"footprint, |predicted / measured - 1|, {name}",
                value=max(errors.values()),
                low=min(errors.values()),
                high=max(errors.values()),
                spread="both batch sizes",
                unit="",
                aim=0.15,
                note="; ".join(
                    f"batch {size}: {ratio:.2f} of {measured / 1e6:.1f} MB"
                    for size, (ratio, measured) in ratios.items()
                )
                + ".",
            )
        )
    return results


def _ratio(name: str, batch_size: int) -> tuple[float, int]:
    """Predicted over measured growth of the worker's peak resident set, and the latter."""
    run = wb.train(name, engine="ondevice", steps=STEPS, batch_size=batch_size).wait()
    assert run.summary is not None
    measured = run.summary["peak_rss_bytes"] - run.summary["rss_before_bytes"]
    artifacts = Artifacts.load(run.folder.artifacts_path)
    predicted = artifacts.footprint(batch_size).peak_bytes()
    return predicted / measured, measured

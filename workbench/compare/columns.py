"""The columns of the table of a comparison."""

from __future__ import annotations

from workbench.compare.rounds.statistics import MIN_ROUNDS

COLUMNS = {
    "samples_per_s": "samples per second: the reference's median over rounds, times the ratio; "
    "without a round, of the run's own steps",
    "ratio": "throughput relative to the reference: median over rounds; NaN for a single engine",
    "ratio_low": f"lower bound of its 95 % bootstrap interval; NaN below {MIN_ROUNDS} rounds",
    "ratio_high": "upper bound",
    "rounds": "measured rounds, after the warm-up",
    "peak_memory_mb": "peak resident set of the worker, 10^6 bytes",
    "memory_growth_mb": "part of it allocated since the engine began to be built",
    "startup_s": "seconds from launch to the end of the first step, without pauses",
    "steps": "optimizer steps taken",
    "final_loss": "loss of the last step",
    "max_loss_difference": "largest absolute difference from the reference's loss at the same step",
    "status": "status of the run",
    "pytorch_fallbacks": "what PyTorch executed instead of the engine, and why; empty if nothing",
    "warning": "why the ratios are not reliable; empty if they are",
}
"""The columns of the table and their meaning."""

TESTED = {"test_loss": "loss", "test_accuracy": "accuracy"}
"""Further columns of recorded runs that were measured one by one, and what of the last evaluation
on the test split they are; NaN without one. A comparison in lockstep does not evaluate."""

MARK = "*"
"""Appended to the name of an engine with PyTorch fallbacks."""

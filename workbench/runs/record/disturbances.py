"""What is said of runs that were measured while other programs kept the machine busy."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.run_folder.results.step_results import StepResults


def disturbances(results: Mapping[str, StepResults]) -> list[str]:
    """A sentence for each run, by its name, whose throughput was disturbed."""
    return [
        f"The machine was busy while {name} was measured ({found.disturbance}): do not trust its "
        "throughput."
        for name, found in results.items()
        if found.disturbance
    ]

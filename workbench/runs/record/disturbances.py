"""What is said of runs that were measured on a busy machine, or on one that may have been."""

from __future__ import annotations

import math
from collections.abc import Mapping

from workbench.run_folder.results.step_results import StepResults


def unknown_load(results: Mapping[str, StepResults]) -> str:
    """A sentence on the runs, by their names, of whose throughput it is not known whether it was
    disturbed; empty: there are none."""
    names = [
        name
        for name, found in results.items()
        if found.load is None and math.isfinite(found.samples_per_s)
    ]
    if not names:
        return ""
    verb = "was" if len(names) == 1 else "were"
    return (
        f"It is not known whether the machine was quiet while {', '.join(names)} {verb} measured."
    )


def disturbances(results: Mapping[str, StepResults]) -> str:
    """A sentence on the runs, by their names, whose throughput was disturbed; empty: there are
    none."""
    disturbed = {name: found.disturbance for name, found in results.items() if found.disturbance}
    if not disturbed:
        return ""
    if len(disturbed) == 1:
        [(name, by)] = disturbed.items()
        return (
            f"The machine was busy while {name} was measured ({by}): do not trust its throughput."
        )
    named = ", ".join(f"{name} ({by})" for name, by in disturbed.items())
    return (
        f"The machine was busy while these were measured: {named}. Do not trust their throughputs."
    )

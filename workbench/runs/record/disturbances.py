"""What is said of runs that were measured on a busy machine, or on one that may have been, or
not at all."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

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
    if len(names) == 1:
        return f"It is not known whether the machine was quiet while {names[0]} was measured."
    named = _named(names, results)
    return f"It is not known whether the machine was quiet while {named} were measured."


def is_too_short(found: StepResults) -> bool:
    """Whether a run took steps, but none after the first ones, which are not measured."""
    return len(found.loss_curve) > 0 and not math.isfinite(found.samples_per_s)


def too_short(results: Mapping[str, StepResults]) -> str:
    """A sentence on the runs, by their names, that were too short for a throughput; empty: there
    are none."""
    names = [name for name, found in results.items() if is_too_short(found)]
    if not names:
        return ""
    who = names[0] if len(names) == 1 else _named(names, results)
    first = "which are not measured (Unmeasured steps, in Evaluation and measuring)"
    if len(names) == 1:
        return f"There is no throughput of {who}: it took only the first steps, {first}."
    return f"There is no throughput of {who}: they took only the first steps, {first}."


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
    named = _named(disturbed, results)
    return f"The machine was busy while {named} were measured: do not trust their throughputs."


def _named(some: Collection[str], results: Mapping[str, StepResults]) -> str:
    """Their names; "these runs" where they are all."""
    if len(some) == len(results):
        return "these runs"
    return ("; " if any("," in name for name in some) else ", ").join(some)

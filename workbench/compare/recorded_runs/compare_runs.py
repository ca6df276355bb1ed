"""`wb.compare_runs`: recorded runs of any time, compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from workbench.compare.comparison import Comparison
from workbench.compare.recorded_runs.run_comparison import RunComparison
from workbench.errors import ConfigError, value_text
from workbench.runs import Run, load_run


def compare_runs(runs: Sequence[Run | Comparison | str | Path]) -> RunComparison:
    """Compare recorded runs of any time, with the first of PyTorch, else the first, as reference.

    Runs of one comparison keep its ratios, which were measured in lockstep.

    Args:
        runs: each a `Run`, an argument of `load_run`, or a `Comparison`, for all its runs.

    Raises:
        ConfigError: there are none, or one is given twice.
        RunFolderError: there is no such run, or it cannot be read.
    """
    if not isinstance(runs, str | Path | Run | Comparison | Iterable):
        raise ConfigError([f"runs={value_text(runs)}: give a list of runs or their ids."])
    found: list[Run] = []
    for given in [runs] if isinstance(runs, str | Path | Run | Comparison) else runs:
        if isinstance(given, Comparison):
            found += given.runs.values()
        else:
            found.append(given if isinstance(given, Run) else load_run(given))
    if not found:
        raise ConfigError(["runs=[]: give at least one run."])
    ids = [run.id for run in found]
    twice = [each for each in dict.fromkeys(ids) if ids.count(each) > 1]
    if twice:
        raise ConfigError([f"runs contains {each!r} twice." for each in twice])
    return RunComparison(found)

"""The throughputs that a comparison has found, and their load, in the records of its runs."""

from __future__ import annotations

import contextlib
import math
import os

from workbench.compare.load_comparison import load_comparison
from workbench.errors import RunFolderError, WorkbenchError
from workbench.machine.load import Load
from workbench.runs import Run
from workbench.runs.launch import acquire_watchdog_lock


def record_throughputs(comparison_id: str) -> None:
    """Let the runs of an ended comparison have its figures wherever they are shown.

    A run that cannot be written, that was deleted or resumed keeps the median of its own rounds,
    which differs where the machine was disturbed.
    """
    with contextlib.suppress(RunFolderError):
        comparison = load_comparison(comparison_id)
        for engine, speed in comparison.speeds().items():
            if math.isfinite(speed.samples_per_s):
                _record(comparison.runs[engine], speed.samples_per_s, comparison.load)


def record_interrupted(comparison_id: str) -> None:
    """The same once of a comparison that ended with the process that drove it."""
    with contextlib.suppress(RunFolderError):
        if comparison_id not in _recorded and load_comparison(comparison_id).ended:
            _recorded.add(comparison_id)
            record_throughputs(comparison_id)


_recorded = set[str]()


def _record(run: Run, samples_per_s: float, load: Load | None) -> None:
    folder = run.folder
    with contextlib.suppress(WorkbenchError, OSError):
        # While it is held, no other process can resume or delete the run.
        lock = acquire_watchdog_lock(folder)
        try:
            summary = folder.read_summary()
            resumed = folder.read_spec().get("resumed_from") is not None
            if summary is not None and not resumed:
                own = run.step_results()
                found = own._replace(samples_per_s=samples_per_s, load=load or own.load)
                folder.write_summary({**summary, **found.record()})
        finally:
            if lock is not None:
                os.close(lock)

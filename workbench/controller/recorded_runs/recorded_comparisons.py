"""Lists the recorded comparisons of this directory, to be opened again."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from workbench.compare.record import SavedComparison, comparisons_folder
from workbench.errors import RunFolderError
from workbench.runs import load_run

MOST = 50
"""How many are listed; an older one can be typed."""


class RecordedComparison(NamedTuple):
    """One comparison."""

    id: str
    title: str
    """Its engines and model, or why it cannot be opened."""
    runs: tuple[str, ...] = ()
    """Ids of its runs."""


def recorded_comparisons() -> list[RecordedComparison]:
    """The newest comparisons, newest first."""
    # An id begins with its time.
    paths = sorted(comparisons_folder().glob("*.json"), reverse=True)[:MOST]
    return [_read(path) for path in paths]


def _read(path: Path) -> RecordedComparison:
    try:
        saved = SavedComparison.read(path)
        runs = tuple(saved.runs.values())
        models = {load_run(run_id).spec["model"] for run_id in runs}
    except RunFolderError as error:
        return RecordedComparison(path.stem, str(error))
    engines = ", ".join(saved.engines)
    title = f"{engines} on {', '.join(models)}" if models else engines
    return RecordedComparison(path.stem, title, runs)

"""Lists the recorded comparisons of this directory, to be opened again."""

from __future__ import annotations

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


def recorded_comparisons() -> list[RecordedComparison]:
    """The newest comparisons, newest first."""
    # An id begins with its time.
    paths = sorted(comparisons_folder().glob("*.json"), reverse=True)[:MOST]
    return [RecordedComparison(path.stem, _title(path.stem)) for path in paths]


def _title(comparison_id: str) -> str:
    try:
        saved = SavedComparison.read(comparisons_folder() / f"{comparison_id}.json")
        engines = ", ".join(saved.engines)
        models = {load_run(run_id).spec["model"] for run_id in saved.runs.values()}
    except RunFolderError as error:
        return str(error)
    return f"{engines} on {', '.join(models)}" if models else engines

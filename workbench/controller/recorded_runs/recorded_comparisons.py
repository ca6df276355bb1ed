"""Lists the recorded comparisons of this directory, to be opened again."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from workbench.compare.record import SavedComparison, comparisons_folder
from workbench.errors import RunFolderError
from workbench.runs import load_run
from workbench.runs.record.duration import started_at
from workbench.runs.run_title import start_text

MOST = 50
"""How many are listed; an older one can be typed."""


class RecordedComparison(NamedTuple):
    """One comparison."""

    id: str
    title: str
    """Its engines and model, or why it cannot be opened."""
    runs: tuple[str, ...] = ()
    """Ids of its runs."""
    started: str = ""
    """When, as "23 Nov 14:05:12"; empty if that is not recorded."""

    @property
    def text(self) -> str:
        """What is compared, and when."""
        return f"{self.title}, {self.started}".rstrip(", ")


def recorded_comparisons() -> list[RecordedComparison]:
    """The newest comparisons, newest first."""
    # An id begins with its time.
    paths = sorted(comparisons_folder().glob("*.json"), reverse=True)[:MOST]
    return [_read(path) for path in paths]


def recorded_comparison(comparison_id: str) -> RecordedComparison:
    """The comparison of this id."""
    return _read(comparisons_folder() / f"{comparison_id}.json")


def _read(path: Path) -> RecordedComparison:
    try:
        saved = SavedComparison.read(path)
    except RunFolderError as error:
        return RecordedComparison(path.stem, str(error))
    ids, engines = tuple(saved.runs.values()), ", ".join(saved.engines)
    try:
        specs = [load_run(run_id).spec for run_id in ids]
    except RunFolderError:
        gone = "a run of it was removed or cannot be read"
        return RecordedComparison(path.stem, f"{engines}: {gone}", ids)
    if not specs:
        return RecordedComparison(path.stem, engines)
    models = ", ".join(dict.fromkeys(str(spec["model"]) for spec in specs))
    started = start_text(started_at(specs[0]))
    return RecordedComparison(path.stem, f"{engines} on {models}", ids, started)

"""Lists the recorded comparisons of this directory, to be opened again."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from workbench.compare.record import SavedComparison, comparisons_folder
from workbench.errors import RunFolderError
from workbench.runs import load_run
from workbench.runs.record.duration import started_at
from workbench.runs.run_title import main_settings, start_text

MOST = 50
"""How many are listed; an older one can be typed."""


class RecordedComparison(NamedTuple):
    """One comparison."""

    id: str
    title: str
    """Its engines and model, or why it cannot be opened."""
    runs: tuple[str, ...] = ()
    """Ids of its runs."""
    settings: str = ""
    """The main ones of its first run, as "lr 0.01, batch 32, 300 steps"; empty as `started`."""
    started: str = ""
    """When, as "23 Nov 14:05:12"; empty if that is not recorded."""

    @property
    def text(self) -> str:
        """What is compared, with which settings, and when."""
        return ", ".join(filter(None, (self.title, self.settings, self.started)))


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
        runs = [load_run(run_id) for run_id in ids]
    except RunFolderError:
        gone = "a run of it was removed or cannot be read"
        return RecordedComparison(path.stem, f"{engines}: {gone}", ids)
    if not runs:
        return RecordedComparison(path.stem, engines)
    models = ", ".join(dict.fromkeys(str(run.spec["model"]) for run in runs))
    settings, started = main_settings(runs[0].config), start_text(started_at(runs[0].spec))
    return RecordedComparison(path.stem, f"{engines} on {models}", ids, settings, started)

"""`wb.load_comparison`: a comparison that is on the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from workbench.compare.comparison import Comparison
from workbench.compare.record import SavedComparison, comparisons_folder
from workbench.errors import RunFolderError, nearest, value_text
from workbench.machine.load import Load, total_load
from workbench.run_folder.results.step_results import StepResults
from workbench.run_folder.run_folder import is_id
from workbench.runs import Run, load_run
from workbench.settings.engines import reference_of


def load_comparison(comparison_id: str) -> Comparison:
    """Load a comparison of this working directory by its id.

    Its records are untrusted: no code that they name is imported, unpickled or executed. A run
    that cannot be read has the status `unreadable` in the table.

    Raises:
        RunFolderError: there is none, or its record is corrupt.
    """
    if not isinstance(comparison_id, str):
        raise RunFolderError(f"{comparison_id!r} is not a comparison: pass its id.")
    folder = comparisons_folder()
    path = folder / f"{comparison_id}.json"
    if not is_id(comparison_id) or not _exists(path):
        known = [found.stem for found in folder.glob("*.json")]
        hint = nearest(comparison_id, known) if known else "There are no comparisons yet."
        raise RunFolderError(f"No comparison {value_text(comparison_id)} in {folder}. {hint}")
    record = _GrowingRecord(path)
    return Comparison(
        comparison_id,
        record.saved.as_plan(),
        [*record.saved.engines],
        record.loads,
        runs=record.runs,
        unreadable=record.unreadable,
        refresh=record.refresh,
    )


class _GrowingRecord:
    """A record that is read again when it has changed: another process may go on with it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = _stamp_of(path)
        self.saved = SavedComparison.read(path)
        self.runs: dict[str, Run] = {}
        self.unreadable: dict[str, str] = {}
        self.loads: list[Load | None] = []
        self._take()

    def refresh(self) -> None:
        """Take in what was added. A record that was deleted or damaged stays as it was read."""
        stamp = _stamp_of(self._path)
        if stamp is None or stamp == self._stamp:
            return
        self._stamp = stamp
        with suppress(RunFolderError):
            self.saved = SavedComparison.read(self._path)
            self._take()

    def _take(self) -> None:
        for engine, run_id in self.saved.runs.items():
            if engine in self.runs:
                continue
            try:
                self.runs[engine] = load_run(run_id)
                self.unreadable.pop(engine, None)
            except RunFolderError as error:
                self.unreadable[engine] = str(error)
        self.loads[:] = self.saved.as_loads()


def _stamp_of(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


class Together(NamedTuple):
    """Runs that were measured in lockstep, with others perhaps."""

    comparison: Comparison
    """Theirs, with their engines alone."""
    baseline: str
    """The engine that all were measured against."""
    baseline_run: Callable[[], Run | None]
    """Returns its run; None: it has none that can be read, so that the throughputs are of the
    rounds of these runs alone."""


def measured_together(runs: Sequence[Run]) -> Together | None:
    """The recorded comparison in which `runs` were measured in lockstep.

    None if there is none, or if one of them was resumed: its later steps were measured alone.
    """
    engines = {run.id: run.engine for run in runs}
    if len(engines) < 2 or any(run.spec.get("resumed_from") is not None for run in runs):
        return None
    for comparison_id, saved in _readable():
        if engines.keys() <= set(saved.runs.values()):
            try:
                record = _GrowingRecord(comparisons_folder() / f"{comparison_id}.json")
            except RunFolderError:  # it was deleted meanwhile
                continue
            return _part(comparison_id, record, {run.engine: run for run in runs})
    return None


def _part(comparison_id: str, record: _GrowingRecord, runs: dict[str, Run]) -> Together:
    """The comparison of some of the runs of a record."""
    baseline = reference_of(record.saved.engines)

    def baseline_run() -> Run | None:
        run = record.runs.get(baseline)
        return run if run is not None and _exists(run.folder.path) else None

    comparison = Comparison(
        comparison_id,
        record.saved.as_plan(),
        [*runs],
        record.loads,
        runs=runs,
        refresh=record.refresh,
        baseline=baseline_run,
    )
    return Together(comparison, baseline, baseline_run)


def with_loads(
    runs: Mapping[str, Run], results: Mapping[str, StepResults]
) -> dict[str, StepResults]:
    """The results of the steps of runs; where a run does not know the load of other programs, with
    that of its comparison, which recorded it before runs did.

    Args:
        runs: by their names.
        results: of each, by the same names.
    """
    ids = {runs[name].id for name, found in results.items() if found.load is None}
    loads: dict[str, Load] = {}
    for _, saved in _readable() if ids else ():
        load = total_load([each for each in saved.as_loads() if each is not None])
        if load is not None:
            loads |= dict.fromkeys(ids & set(saved.runs.values()), load)
    return {
        name: found._replace(load=found.load or loads.get(runs[name].id))
        for name, found in results.items()
    }


def _readable() -> Iterator[tuple[str, SavedComparison]]:
    """The records that can be read, with their ids, the newest first."""
    for path in sorted(comparisons_folder().glob("*.json"), reverse=True):
        try:
            saved = SavedComparison.read(path)
        except RunFolderError:  # said where it is opened
            continue
        yield path.stem, saved


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long
        return False

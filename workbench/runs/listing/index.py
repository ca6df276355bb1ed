"""An index of all recorded runs, which reads a run again only if it has changed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from workbench.errors import RunFolderError
from workbench.run_folder.run_folder import RunFolder, home
from workbench.runs.listing.read_row import RowReader
from workbench.runs.listing.row import RunRow

UNSETTLED_S = 0.1
"""Files that changed so shortly before they were read are read again: a second change may follow
within the resolution of the file system's clock."""


MANY_RUNS = 30
"""If more are new at once, their event logs are left to `RunIndex.complete`."""


class Changes(NamedTuple):
    """Changes between two reads of the run folders."""

    rows: list[RunRow]
    """New runs and those that have changed, newest first."""
    removed: list[str]
    """Ids of runs that were deleted."""


class _Seen(NamedTuple):
    """State of a folder when it was read last."""

    signature: tuple[int, int, int] | None
    """Its inode and modification time, and that of its summary; None: it had none."""
    settled: bool
    reader: RowReader


class RunIndex:
    """The runs of a folder as rows; each `poll` reads what is new. For one thread at a time.

    A run whose worker is alive is read each time. Of the others a change is known by the
    modification time of the folder, since records and labels are replaced atomically, and of the
    summary; an edit of another record in its place is noticed after `doubt`.
    """

    def __init__(self, runs: Path | None = None) -> None:
        """Create an index without runs.

        Args:
            runs: the folder of the runs; None: that of the working directory.
        """
        self.folder = home() / "runs" if runs is None else runs
        self.rows: dict[str, RunRow] = {}
        """All rows by id, as of the last poll."""
        self._seen: dict[str, _Seen] = {}

    def poll(self) -> Changes:
        """Read what has changed since the last call; a few ms for 1,000 runs if nothing has.

        Of many new runs, event logs are not read; `complete` reads them. A run that
        cannot be read has the status `unreadable`, with the reason.

        Raises:
            RunFolderError: the folder of the runs cannot be read; the rows are kept.
        """
        folders = self._folders()
        removed = [run_id for run_id in self.rows if run_id not in folders]
        for run_id in [run_id for run_id in self._seen if run_id not in folders]:
            del self._seen[run_id]
            self.rows.pop(run_id, None)
        changed = []
        quick = len(folders) - len(self._seen) > MANY_RUNS
        for run_id in sorted(folders, reverse=True):
            row = self._read_changed(run_id, *folders[run_id], quick)
            if row is not None:
                changed.append(row)
        return Changes(changed, removed)

    def complete(self, run_ids: Sequence[str]) -> list[RunRow]:
        """Read the event logs of runs that `poll` has left out; about 0.5 ms each."""
        rows = []
        for run_id in run_ids:
            seen = self._seen.get(run_id)
            if seen is not None and not self.rows[run_id].complete:
                self.rows[run_id] = row = seen.reader.read()
                rows.append(row)
        return rows

    def doubt(self, run_id: str) -> None:
        """Let the next `poll` read a run again, whether or not its folder has changed."""
        if run_id in self._seen:
            self._seen[run_id] = self._seen[run_id]._replace(settled=False)

    @property
    def incomplete(self) -> list[str]:
        """Ids of the runs whose event logs were left out so far, newest first."""
        return sorted(
            (run_id for run_id, row in self.rows.items() if not row.complete), reverse=True
        )

    def _read_changed(
        self, run_id: str, path: str, stat: os.stat_result | None, quick: bool
    ) -> RunRow | None:
        """The row of a run if it has changed."""
        seen = self._seen.get(run_id)
        signature = None
        if stat is not None:
            signature = (stat.st_ino, stat.st_mtime_ns, _changed_ns(f"{path}/summary.json"))
        if seen is not None and seen.settled and seen.signature == signature:
            return None
        reader = RowReader(RunFolder(Path(path))) if seen is None else seen.reader
        settled = stat is not None and abs(time.time() - stat.st_mtime) > UNSETTLED_S
        row = reader.read(quick=quick)
        self._seen[run_id] = _Seen(signature, settled and not reader.active, reader)
        if row == self.rows.get(run_id):
            return None
        self.rows[run_id] = row
        return row

    def _folders(self) -> dict[str, tuple[str, os.stat_result | None]]:
        """Path and status of each folder that holds a run, by id."""
        found: dict[str, tuple[str, os.stat_result | None]] = {}
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    if entry.name in self._seen or _is_of_run(entry.path):
                        found[entry.name] = (entry.path, _status_of(entry))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise RunFolderError(
                f"{self.folder} cannot be read: {error.strerror}. Set WORKBENCH_HOME to a folder."
            ) from None
        return found


def _is_of_run(path: str) -> bool:
    """Whether it has a spec, or a log and thus had one: else it is of a launch in progress, or none
    of a run."""
    return any(os.path.lexists(f"{path}/{name}") for name in ("spec.json", "events.jsonl"))


def _changed_ns(path: str) -> int:
    """When a file was changed; 0: there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _status_of(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat()
    except OSError:  # removed meanwhile, or a broken link
        return None

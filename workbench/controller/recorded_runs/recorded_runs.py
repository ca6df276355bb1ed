"""Lists the recorded runs for a view, and carries out the user's actions on them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence

from workbench.controller.recorded_runs.deleted_runs import DeletedRuns
from workbench.controller.recorded_runs.poll_interval import POLL_S, poll_interval_s
from workbench.controller.recorded_runs.run_detail import FOLDER_GONE, describe_run
from workbench.controller.recorded_runs.run_export import RunExports
from workbench.controller.recorded_runs.run_resumption import RunResumption
from workbench.controller.recorded_runs.runs_view import RunsView
from workbench.controller.request_thread import RequestThread
from workbench.controller.state import failure
from workbench.errors import RunError, RunFolderError
from workbench.run_folder.labels import checked_tags
from workbench.run_folder.run_folder import RunFolder, is_id
from workbench.runs import Run, load_run
from workbench.runs.listing import Changes, RunIndex, RunRow
from workbench.runs.trash import move_to_trash, restore_from_trash

COMPLETED_AT_ONCE = 40
"""Runs whose event logs are read between requests: about 20 ms."""


class RecordedRuns:
    """Its methods return immediately and may be called from any thread; the view shows results."""

    def __init__(self, view: RunsView, least_s: Callable[[], float] = lambda: 0.0) -> None:
        """Begin to list the runs of this directory.

        Args:
            view: is notified of every change.
            least_s: returns the least seconds between two polls now, see `poll_interval_s`.
        """
        self.on_open: Callable[[Run], None] | None = None
        """Called with an opened run, instead of showing its details."""
        self.on_compare: Callable[[list[Run]], None] | None = None
        """Called with the runs that are compared."""
        self.resumption = RunResumption(view)
        self.on_restore: Callable[[Run], None] | None = None
        """Called with a run whose model, data and settings are to be restored."""
        self.on_personalise: Callable[[Run], None] | None = None
        """Called with a run that is to be fine-tuned on a user's own examples."""
        self._view = view
        self._index = RunIndex()
        self._problem: str | None = None
        self._listed = False
        """Whether the runs were shown, or that there are none."""
        self._least_s = least_s
        self._polled_at, self._interval_s = -math.inf, 0.0
        self._trash = DeletedRuns(self._index.folder.parent)
        self._deleted, self._restored = list[str](), list[str]()
        """Ids of the last deleted runs, unless restored, and of those that were restored last."""
        self._listing = RequestThread("workbench-runs", self._on_error, self._tick, POLL_S)
        self._actions = RequestThread("workbench-run-actions", self._on_error)
        self.exports = RunExports(view, self._run, self._actions.ask)
        self.refresh()

    @property
    def folder(self) -> str:
        """The folder of the runs."""
        return str(self._index.folder)

    @property
    def rows(self) -> dict[str, RunRow]:
        """The listed runs, by id."""
        return dict(self._index.rows)

    def refresh(self) -> None:
        """Poll for changes now; it also happens by itself, see `poll_interval_s`."""
        self._listing.ask(self._poll)

    def open(self, run_id: str) -> None:
        """Show a run: its settings, results, figure, and why it failed; its row is read again."""
        self._listing.ask(lambda: self._index.doubt(run_id))
        self._act(lambda: self._open(run_id), "Reading the run …")

    def compare(self, run_ids: Sequence[str]) -> None:
        """Show two runs or more side by side."""
        self._act(lambda: self._compare(list(run_ids)), "Reading the runs …")

    def resume(self, run_id: str) -> None:
        """Resume a run from its latest checkpoint, or after a pause."""
        self._act(lambda: self.resumption.resume(self._run(run_id)), "Resuming …")

    def train_further(self, run_id: str, total: int) -> None:
        """Resume a run that has ended from its latest checkpoint, to `total` steps, or rounds."""
        self._act(lambda: self.resumption.train_further(self._run(run_id), total), "Resuming …")

    def restore(self, run_id: str) -> None:
        """Restore the model, data and settings that a run was started with."""
        self._act(lambda: self._hand(run_id, self.on_restore), "Reading the run …")

    def personalise(self, run_id: str) -> None:
        """Fine-tune the trained model of a run on a user's own examples."""
        self._act(lambda: self._hand(run_id, self.on_personalise), "Reading the run …")

    def stop(self, run_ids: Sequence[str]) -> None:
        """Stop runs that are in progress; each writes a checkpoint."""
        self._act(lambda: self._stop(list(run_ids)))

    def export(self, run_id: str, path: str, *, merge_lora: bool = True) -> None:
        """Export the trained model of a run, as `Run.export`."""
        self.exports.export(run_id, path, merge_lora=merge_lora)

    def quantize(self, run_id: str, path: str) -> None:
        """Export the trained model of a run as int8, and report the loss of accuracy."""
        self.exports.quantize(run_id, path)

    def cancel(self) -> None:
        """End the export that is in progress, and those that wait for it."""
        self.exports.cancel()

    def rename(self, run_id: str, name: str) -> None:
        """See `Run.rename`."""
        self._act(lambda: self._run(run_id).rename(name))

    def tag(self, run_ids: Sequence[str], tags: Sequence[str] | str) -> None:
        """Replace the tags of runs; a string is a list with commas."""

        def set_tags() -> None:
            for run_id in run_ids:
                self._run(run_id).tags = tags

        self._act(set_tags)

    def change_tags(
        self,
        run_ids: Sequence[str],
        add: Sequence[str] | str = (),
        remove: Sequence[str] | str = (),
    ) -> None:
        """Add and remove tags of runs; their other tags are kept."""

        def change() -> None:
            added, removed = checked_tags(add), checked_tags(remove)
            for run_id in run_ids:
                run = self._run(run_id)
                kept = [tag for tag in run.tags if tag not in removed]
                run.tags = [*kept, *(tag for tag in added if tag not in kept)]

        self._act(change)

    def note(self, run_id: str, notes: str) -> None:
        """Replace the notes on a run."""

        def set_notes() -> None:
            self._run(run_id).notes = notes

        self._act(set_notes)

    def delete(self, run_ids: Sequence[str]) -> None:
        """Move runs to the trash; those in progress are kept and reported."""
        self._act(lambda: self._delete(list(run_ids)))

    def undelete(self, run_ids: Sequence[str]) -> None:
        """Restore deleted runs."""
        self._act(lambda: self._undelete(list(run_ids)))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all requests so far are done; False on a timeout."""
        end = None if timeout is None else time.monotonic() + timeout
        return all(
            thread.wait(None if end is None else max(0.0, end - time.monotonic()))
            for thread in (self._actions, self._listing)
        )

    def close(self) -> None:
        """End the threads."""
        self._listing.close()
        self._actions.close()

    def _run(self, run_id: str) -> Run:
        """A run of the listed folder, independent of the current working directory."""
        listed = is_id(run_id) and os.path.lexists(self._index.folder / run_id)
        return load_run(self._index.folder / run_id if listed else run_id)

    def _act(self, action: Callable[[], None], doing: str = "") -> None:
        def act() -> None:
            self._view.show_outcome("busy" if doing else "done", doing)
            try:
                action()
            finally:
                self.refresh()

        self._actions.ask(act)

    def _on_error(self, error: Exception) -> None:
        self._view.show_outcome("error", failure(error).message)

    def _tick(self) -> bool:
        if time.monotonic() >= self._polled_at + max(self._interval_s, self._least_s()):
            self._poll()
        return True

    def _poll(self) -> None:
        began_s = time.thread_time()
        try:
            changes = self._index.poll()
        except RunFolderError as error:
            self._show_problem(str(error))
        else:
            self._show_problem("")
            if not self._listed or changes.rows or changes.removed:
                self._listed = True
                self._view.show_changes(changes)
            deleted = self._trash.changed()
            if deleted is not None:
                self._view.show_deleted(deleted, self._trash.total)
        self._polled_at = time.monotonic()
        self._interval_s = poll_interval_s(time.thread_time() - began_s)
        if self._index.incomplete:
            self._listing.ask(self._complete)

    def _complete(self) -> None:
        """Read the event logs that the first poll has skipped, some at a time."""
        incomplete = self._index.incomplete
        rows = self._index.complete(incomplete[:COMPLETED_AT_ONCE])
        if rows:
            self._view.show_changes(Changes(rows, []))
        if len(incomplete) > COMPLETED_AT_ONCE:
            self._listing.ask(self._complete)

    def _show_problem(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._view.show_problem(problem)

    def _open(self, run_id: str) -> None:
        run = self._run(run_id)
        if self.on_open is not None:
            self.on_open(run)
        else:
            detail = describe_run(run)
            if not run.folder.path.exists():  # removed meanwhile, before a change could say so
                detail = detail._replace(problem=FOLDER_GONE)
            self._view.show_detail(detail)
        self._view.show_outcome("done", "")

    def _compare(self, run_ids: list[str]) -> None:
        if len(run_ids) < 2:
            raise RunError("Choose two runs or more to compare.")
        runs = [self._run(run_id) for run_id in run_ids]
        if self.on_compare is not None:
            self.on_compare(runs)
        self._view.show_outcome("done", "")

    def _hand(self, run_id: str, to: Callable[[Run], None] | None) -> None:
        run = self._run(run_id)
        if to is not None:
            to(run)
        self._view.show_outcome("done", "")

    def _stop(self, run_ids: list[str]) -> None:
        for run_id in run_ids:
            self._run(run_id).stop()

    def _delete(self, run_ids: list[str]) -> None:
        left = [each for each in run_ids if os.path.lexists(self._index.folder / each)]
        if not left and set(run_ids) <= set(self._deleted):
            # The second click of a double click, whose runs are still in the list.
            self._view.show_outcome("done", f"Deleted {_count(self._deleted)}.", self._deleted)
            return
        deleted, refused = list[str](), list[str]()
        for run_id in run_ids:
            try:
                # Not `load_run`: one that cannot be read can be deleted.
                folder = RunFolder(self._index.folder / run_id)
                move_to_trash(folder, self._index.folder.parent)
                deleted.append(run_id)
            except (RunError, RunFolderError) as error:
                refused.append(str(error))
        self._deleted, self._restored = deleted, []
        parts = [f"Deleted {_count(deleted)}."] if deleted else []
        message = " ".join([*parts, *refused])
        self._view.show_outcome("error" if refused else "done", message, deleted)

    def _undelete(self, run_ids: list[str]) -> None:
        if run_ids and set(run_ids) <= set(self._restored):  # the second click of a double click
            self._view.show_outcome("done", f"Restored {_count(run_ids)}.")
            return
        restored, refused = list[str](), list[str]()
        for run_id in run_ids:
            try:
                restore_from_trash(run_id, self._index.folder.parent)
                restored.append(run_id)
            except (RunError, RunFolderError) as error:
                refused.append(str(error))
        self._deleted, self._restored = [], restored
        parts = [f"Restored {_count(restored)}."] if restored else []
        self._view.show_outcome("error" if refused else "done", " ".join([*parts, *refused]))


def _count(run_ids: Sequence[str]) -> str:
    return f"{len(run_ids)} run{'' if len(run_ids) == 1 else 's'}"

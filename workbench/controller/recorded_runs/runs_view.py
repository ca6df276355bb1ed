"""The interface between recorded runs and their view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from workbench.controller.recorded_runs.deleted_runs import DeletedRun
from workbench.controller.recorded_runs.run_detail import RunDescription
from workbench.runs.listing import Changes

Outcome = Literal["busy", "done", "error"]


class RunsView(Protocol):
    """Shows `RecordedRuns`. Called from its threads; must return quickly."""

    def show_changes(self, changes: Changes) -> None:
        """Some rows are new, have changed, or were removed."""

    def show_problem(self, problem: str) -> None:
        """Why the folder of the runs cannot be read; empty: it was read."""

    def show_outcome(
        self,
        outcome: Outcome,
        message: str,
        undo: Sequence[str] = (),
        *,
        cancellable: bool = False,
    ) -> None:
        """The result of a request, in sentences; which runs `undelete` can restore; and whether
        `cancel` ends it."""

    def show_deleted(self, deleted: Sequence[DeletedRun], total: int) -> None:
        """The runs in the trash, from which `undelete` restores them: the last ones of `total`."""

    def show_detail(self, detail: RunDescription) -> None:
        """A run was opened."""

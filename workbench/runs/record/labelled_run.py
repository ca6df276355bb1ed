"""Actions of a user on the record of a run: name it, label it, delete it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.run_folder.labels import (
    change_labels,
    checked_name,
    checked_notes,
    checked_tags,
    labels_or_problem,
    read_labels,
)
from workbench.run_folder.run_folder import RunFolder
from workbench.runs.record.duration import duration_s, recorded_time, started_at
from workbench.runs.run_title import run_title, trained_by
from workbench.runs.trash import move_to_trash


class LabelledRun(ABC):
    """Display name, tags and notes of a run, stored separately from its record; and deletion.

    Attributes:
        folder: of the run.
        spec: its spec.
    """

    folder: RunFolder
    spec: dict[str, Any]

    @property
    @abstractmethod
    def summary(self) -> dict[str, Any] | None: ...

    @property
    @abstractmethod
    def ended(self) -> bool: ...

    @property
    def name(self) -> str:
        """The display name; the id of a run that was not renamed.

        Raises:
            RunFolderError: the labels are corrupt.
        """
        return read_labels(self.folder).name or self.folder.id

    @property
    def title(self) -> str:
        """Title for display: the display name, or model, engine and start."""
        given = labels_or_problem(self.folder)[0].name
        model, started = str(self.spec["model"]), started_at(self.spec)
        return given or run_title(model, trained_by(self.spec), started)

    def rename(self, name: str) -> None:
        """Give the run another display name; an empty one restores the id, which never changes.

        Raises:
            RunFolderError: the name is longer than 200 characters or contains control characters;
                or it cannot be written.
        """
        change_labels(self.folder, name=checked_name(name))

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags to find the run by. Assign a list, or a string with commas, to replace them.

        Raises:
            RunFolderError: the labels are corrupt; on assignment, a tag is too long or contains
                control characters, or they cannot be written.
        """
        return read_labels(self.folder).tags

    @tags.setter
    def tags(self, tags: Sequence[str]) -> None:
        change_labels(self.folder, tags=checked_tags(tags))

    @property
    def notes(self) -> str:
        """Notes on the run, as plain text. Assign a string to replace them.

        Raises:
            RunFolderError: the labels are corrupt; on assignment, the notes are longer than 10,000
                characters or contain control characters, or they cannot be written.
        """
        return read_labels(self.folder).notes

    @notes.setter
    def notes(self, notes: str) -> None:
        change_labels(self.folder, notes=checked_notes(notes))

    @property
    def duration_s(self) -> float:
        """Seconds from launch to end, pauses included, or until now; NaN if not recorded."""
        return duration_s(self.folder, self.spec, self.summary, not self.ended)

    def delete(self) -> Path:
        """Move the run to the trash, from which `workbench.undelete` restores it.

        Returns:
            Its folder in the trash, where it is kept for at least 30 days.

        Raises:
            RunError: it is in progress.
            RunFolderError: it is not among the runs of this directory, or cannot be moved.
        """
        return move_to_trash(self.folder)


def total_duration_s(runs: Sequence[LabelledRun]) -> float:
    """Seconds from the first launch to the last end of several runs.

    They overlap in a comparison, where they take turns. NaN if the records have no times.
    """
    if len(runs) == 1:
        return runs[0].duration_s
    launched = [recorded_time(run.spec, "launched") for run in runs]
    ended = [start + run.duration_s for start, run in zip(launched, runs, strict=True)]
    known = [end for end in ended if not math.isnan(end)]
    return max(known) - min(launched) if known else math.nan

"""Runs that a new page offers: those in progress, and interrupted ones."""

from __future__ import annotations

from typing import NamedTuple

from workbench.controller.jobs.job import name_of
from workbench.errors import RunFolderError
from workbench.run_folder.run_folder import RunFolder, home
from workbench.runs import Run
from workbench.runs.active import active_folders
from workbench.runs.run_title import step_word

LOOKED_AT = 20
"""Number of newest runs that are searched for interrupted ones."""
OFFERED = 3
"""Largest number of offers, the newest."""


class Offer(NamedTuple):
    """One run."""

    id: str
    folder: str
    action: str
    """"follow" a run that is in progress, or "resume" one that was interrupted."""
    text: str
    """How it ended, in a sentence."""


def offers() -> list[Offer]:
    """Offers of the working directory, newest first."""
    folder = home() / "runs"
    active = {path.resolve() for path in active_folders()}
    names = sorted((path for path in folder.glob("*") if path.is_dir()), reverse=True)
    found = []
    for path in names[:LOOKED_AT]:
        try:
            run = Run(RunFolder(path))
        except RunFolderError:
            continue
        done, total = run.progress
        name, step = name_of(run), step_word(run.spec)
        if path.resolve() in active and not run.ended:
            text = f"{name} is in progress: {step} {done:,} of {total:,}."
            found.append(Offer(run.id, str(path), "follow", text))
        elif run.status == "interrupted" and done < total and run.checkpoint is not None:
            text = f"{name} was interrupted at {step} {done:,} of {total:,}."
            found.append(Offer(run.id, str(path), "resume", text))
    return found[:OFFERED]

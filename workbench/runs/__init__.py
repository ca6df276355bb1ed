"""Training runs: start, list and load them.

It writes run folders, starts workers and reads what they write; no engine is imported.
"""

from __future__ import annotations

from workbench.runs.load_run import load_run, undelete
from workbench.runs.prepare import dataset_of, from_base, prepare
from workbench.runs.record.activity import Progress, Status
from workbench.runs.run import Run
from workbench.runs.table import runs
from workbench.runs.train import resume, train
from workbench.runs.trash import purge_trash

__all__ = [
    "Progress",
    "Run",
    "Status",
    "dataset_of",
    "from_base",
    "load_run",
    "prepare",
    "purge_trash",
    "resume",
    "runs",
    "train",
    "undelete",
]

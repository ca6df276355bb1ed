"""The mutated sources, and the tests that should detect the mutants."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Area(NamedTuple):
    """A part of the package that measures or records."""

    sources: tuple[str, ...]
    """Files and folders."""
    tests: tuple[str, ...]
    """Files and folders."""

    def files(self, root: Path = ROOT) -> list[Path]:
        """The source files below `root`, relative to it."""
        found: list[Path] = []
        for source in self.sources:
            path = root / source
            found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
        return [path.relative_to(root) for path in found]


RECORDS = ("tests/runs/record/test_known_records.py", "tests/runs/workers/test_measured.py")
RESUMES = "tests/runs/continuation"
RUNS = (*RECORDS, "tests/runs/test_run.py", "tests/runs/workers/test_faults.py", RESUMES)
SAVED = ("tests/runs/workers/test_saving.py", "tests/runs/workers/test_device.py")
AREAS = {
    "worker": Area(
        ("workbench/worker",),
        (
            *("tests/worker", "tests/runs/workers/test_last_weights.py", *RUNS[1:]),
            *SAVED,
        ),
    ),
    "runs": Area(
        ("workbench/runs",),
        ("tests/runs",),
    ),
    "compare": Area(
        ("workbench/compare",),
        (
            "tests/compare",
            "tests/runs/test_ids_and_homes.py",
            "tests/runs/record/test_unreadable.py",
            "tests/runs/engines/test_statistics.py",
        ),
    ),
    "events": Area(
        (
            "workbench/run_folder/events.py",
            "workbench/run_folder/event_fields.py",
            "workbench/run_folder/step_columns.py",
        ),
        (
            "tests/run_folder/test_events.py",
            "tests/run_folder/test_record_files.py",
            "tests/run_folder/test_step_columns.py",
            *RECORDS,
        ),
    ),
    "control": Area(
        ("workbench/run_folder/control.py",),
        ("tests/run_folder/test_control.py", "tests/run_folder/test_record_files.py"),
    ),
    "run_folder": Area(
        ("workbench/run_folder/run_folder.py",),
        ("tests/run_folder/test_run_folder.py", "tests/run_folder/test_record_files.py", *RECORDS),
    ),
    "split": Area(
        ("workbench/data/split.py",), ("tests/data/test_split.py", "tests/data/test_batches.py")
    ),
    "manifest": Area(
        ("workbench/artifacts/generation/manifest.py",),
        ("tests/artifacts/generation/test_manifest.py", "tests/artifacts/test_generate.py"),
    ),
    "verification": Area(
        ("workbench/verification",),
        ("tests/verification",),
    ),
}

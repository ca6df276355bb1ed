"""The folders of the package: their size, and their tests in the folder of their name."""

from __future__ import annotations

from pathlib import Path

from tests.layers.imports import broken, files
from tests.layers.table import PACKAGE, ROOT

TESTED_ABOVE = {"ort/ortmodule/aten/fusions", "ort/ortmodule/aten/operators"}
"""One process builds the graphs of both: their tests are those of `aten`."""

MOST_FILES = 16
"""Source files of a folder, besides its `__init__.py`."""


def test_every_folder_has_tests_of_its_name() -> None:
    folders = {
        file.parent.relative_to(PACKAGE)
        for file in files()
        if file.stem not in {"__init__", "__main__"} and file.parent != PACKAGE
    }
    untested = {
        folder.as_posix()
        for folder in folders
        if not [*(ROOT / "tests" / folder).glob("test_*.py")]
    }
    broken("no tests in the folder of its name:", sorted(untested - TESTED_ABOVE))
    assert untested == TESTED_ABOVE, "a folder of the list has tests, or is gone"
    for folder in TESTED_ABOVE:
        assert [*(ROOT / "tests" / folder).parent.glob("test_*.py")]


def test_no_folder_has_more_than_sixteen_files() -> None:
    crowded = [
        f"{folder.relative_to(ROOT)}: {len(found)} files"
        for top in (PACKAGE, ROOT / "benchmarks", ROOT / "extensions/widgets/src")
        for folder in (top, *(path for path in top.rglob("*") if path.is_dir()))
        if len(found := [file for file in folder.iterdir() if is_source(file)]) > MOST_FILES
    ]
    broken(f"a folder has one subject, in at most {MOST_FILES} files:", crowded)


def is_source(file: Path) -> bool:
    return file.suffix in {".py", ".ts"} and file.name != "__init__.py"

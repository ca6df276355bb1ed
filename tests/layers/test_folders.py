"""The tests of a folder of the package stand in the folder of its name below `tests`."""

from __future__ import annotations

from tests.layers.imports import broken, files
from tests.layers.table import PACKAGE, ROOT

TESTED_ABOVE = {"ort/ortmodule/aten/fusions", "ort/ortmodule/aten/operators"}
"""One process builds the graphs of both: their tests are those of `aten`."""


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

"""Modules are imported by a computed name only where their row allows it."""

from __future__ import annotations

import pytest

from tests.layers.computed_imports import computed_imports, computed_imports_of, is_in
from tests.layers.imports import broken, layer_of
from tests.layers.table import LAYERS, PACKAGE, ROOT


def test_modules_are_imported_by_name_only_where_the_row_allows_it() -> None:
    offenders = [
        f"{file.relative_to(ROOT)}:{line}"
        for file, line in computed_imports()
        if not any(is_in(file, place) for place in LAYERS[layer_of(file)].imports_by_name)
    ]
    broken("what a name is found for, `user_code` finds:", offenders)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import_module(name)", 1),
        ("importlib.import_module(f'{a}.b')", 1),
        ("import_module('torch')", 0),
        ("find = importlib.import_module", 1),
        ("map(import_module, names)", 1),
        ("pkgutil.resolve_name(name)", 1),
        ("runpy.run_path(path)", 1),
        ("from importlib.metadata import EntryPoint\nentry.load()", 1),
        ("from importlib.metadata import entry_points\nfor e in entry_points(): e.load()", 1),
        ("x: ImportString", 1),
        ("pickle.load(file)", 0),
    ],
)
def test_computed_imports_are_seen(source: str, count: int) -> None:
    assert len([*computed_imports_of(PACKAGE / "runs" / "run.py", source)]) == count

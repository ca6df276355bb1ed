"""Imports of modules whose name is no literal."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.layers.imports import files, layer_of, nodes
from tests.layers.table import PACKAGE


def is_in(file: Path, place: str) -> bool:
    """Whether `file` is a file, or in a folder, of its row; "" is the whole of it."""
    path = PACKAGE / layer_of(file) / place
    return file == path or path in file.parents


FINDERS = {
    *("import_module", "resolve_name", "__import__", "run_module", "run_path", "exec_module"),
    *("load_module", "locate", "_gcd_import", "ImportString"),
}
"""Functions that import what a text names."""


def computed_imports_of(file: Path, source: str) -> Iterator[tuple[Path, int]]:
    """File and line of each import of a name that is no literal.

    A finder that is not called in its place, but stored or handed on, could import anything; an
    entry point loads what other packages name.
    """
    called = {id(node.func): node for node in nodes(source) if isinstance(node, ast.Call)}
    for node in nodes(source):
        if not isinstance(node, ast.Name | ast.Attribute):
            continue
        name = node.id if isinstance(node, ast.Name) else node.attr
        call = called.get(id(node))
        if name in FINDERS:
            literal = call and call.args and isinstance(call.args[0], ast.Constant)
            if not literal:
                yield file, node.lineno
        elif name == "load" and re.search(r"(?i)entry_?point", source) and call and not call.args:
            yield file, node.lineno


@cache
def computed_imports() -> tuple[tuple[Path, int], ...]:
    return tuple(
        found
        for file in files()
        for found in computed_imports_of(file, file.read_text(encoding="utf-8"))
    )

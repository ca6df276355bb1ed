"""Names and lengths of the files."""

from __future__ import annotations

import ast

from tests.layers.imports import broken, dotted_module, files, is_module
from tests.layers.table import PACKAGE, ROOT


def test_no_subpackage_hides_a_name_of_its_package() -> None:
    """Importing `workbench.runs.resume`, if it were a module, would replace the function."""
    offenders = []
    for file in PACKAGE.rglob("__init__.py"):
        nodes = ast.parse(file.read_text(encoding="utf-8")).body
        # A module that is loaded here already replaces nothing later.
        loaded = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        package = ".".join(dotted_module(file))
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                names = [each.asname or each.name for each in node.names]
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
            else:
                continue
            offenders += [
                f"{file.relative_to(ROOT)}:{node.lineno} {name}"
                for name in names
                if is_module(f"{package}.{name}") and f"{package}.{name}" not in loaded
            ]
    broken("a name and a module of one package are the same:", offenders)


def test_files_are_named_for_what_they_hold() -> None:
    forbidden = {"utils", "util", "common", "helpers", "helper", "misc", "manager"}
    names = [
        path for folder in ("workbench", "sample_models") for path in (ROOT / folder).rglob("*.py")
    ]
    offenders = [str(path.relative_to(ROOT)) for path in names if path.stem.strip("_") in forbidden]
    broken("a name says what the file holds:", offenders)


def test_files_stay_short() -> None:
    offenders = [
        f"{file.relative_to(ROOT)}: {count} lines"
        for file in files()
        if (count := len(file.read_text(encoding="utf-8").splitlines())) > 300
    ]
    broken("one noun a file, under 300 lines:", offenders)

"""The parser of imports sees them all."""

from __future__ import annotations

import ast

import pytest

from tests.layers.imports import broken, files, imports_of, nodes
from tests.layers.table import PACKAGE, ROOT


def test_import_module_has_its_own_name() -> None:
    """Under another, the parser above would not see what it imports."""
    offenders = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in files()
        for node in nodes(file.read_text(encoding="utf-8"))
        if isinstance(node, ast.ImportFrom) and node.module == "importlib"
        for alias in node.names
        if alias.name == "import_module" and alias.asname not in {None, alias.name}
    ]
    broken("import_module is imported under another name:", offenders)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch", ("torch", True)),
        ("def f():\n import torch.nn", ("torch.nn", False)),
        ("if TYPE_CHECKING:\n import torch", ("torch", False)),
        ("class A:\n import torch", ("torch", True)),
        ("from ..worker import loop", ("workbench.worker.loop", True)),
        ("from ..worker import nothing", ("workbench.worker", True)),
        ("from workbench import runs", ("workbench.runs", True)),
        ("import_module('torch')", ("torch", True)),
        ("x = lambda: __import__('torch')", ("torch", False)),
        ("import_module('..worker', __package__)", ("workbench.worker", True)),
        ("def f(x=import_module('torch')): ...", ("torch", True)),
        ("@import_module('torch').no_grad()\ndef f(): ...", ("torch", True)),
    ],
)
def test_the_parser_sees(source: str, expected: tuple[str, bool]) -> None:
    found = [(one.target, one.at_load) for one in imports_of(PACKAGE / "runs" / "run.py", source)]
    assert expected in found

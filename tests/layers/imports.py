"""Every import of the package, parsed and not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.layers.table import PACKAGE, ROOT


class Import(NamedTuple):
    """One imported module."""

    file: Path
    line: int
    target: str
    """Absolute dotted name."""
    at_load: bool
    """Whether it runs when the file is imported: outside functions and `if TYPE_CHECKING`."""

    @property
    def where(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.target}"

    @property
    def layer(self) -> str:
        return layer_of(self.file)

    def is_of(self, package: str) -> bool:
        return self.target == package or self.target.startswith(f"{package}.")


def layer_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return "" if parts == ("__init__",) else parts[0]


@cache
def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@cache
def parsed(source: str) -> ast.Module:
    """The tree of a file's text, which several rules read and none changes."""
    return ast.parse(source)


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """All nodes of its tree, breadth first."""
    return tuple(ast.walk(parsed(source)))


def called_name(call: ast.Call) -> str:
    """The last part of the name of what is called; empty where it has none."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "static" not in path.parts)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {
        "TYPE_CHECKING",
        "typing.TYPE_CHECKING",
    }


def dotted_module(file: Path) -> list[str]:
    """The package that a relative import in `file` starts from."""
    return list(file.relative_to(ROOT).parent.parts)


def imports_of(file: Path, source: str) -> Iterator[Import]:
    """Every import statement and every `import_module` of a literal name."""

    def targets(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module.split(".") if node.module else []
            if node.level:
                package = dotted_module(file)
                base = package[: len(package) - node.level + 1] + base
            for alias in node.names:
                # `from a.b import c` may name the module a.b.c.
                name = ".".join([*base, alias.name])
                known = base != ["workbench"] and base[0] != "onnxruntime"
                yield ".".join(base) if known and not is_module(name) else name
        elif isinstance(node, ast.Call) and "import" in called_name(node):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                name = first.value.lstrip(".")
                level = len(first.value) - len(name)
                package = dotted_module(file)
                base = package[: len(package) - level + 1] if level else []
                yield ".".join([*base, name])

    def visit(node: ast.AST, at_load: bool) -> Iterator[Import]:
        for target in targets(node):
            yield Import(file, getattr(node, "lineno", 0), target, at_load)
        inner = at_load and not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        )
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # Decorators and defaults run where the function is defined.
            for outside in (*node.decorator_list, node.args):
                yield from visit(outside, at_load)
            for child in node.body:
                yield from visit(child, False)
            return
        if is_type_checking(node):
            assert isinstance(node, ast.If)
            for child in node.body:
                yield from visit(child, False)
            for child in node.orelse:
                yield from visit(child, inner)
            return
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inner)

    yield from visit(parsed(source), True)


@cache
def imports() -> tuple[Import, ...]:
    return tuple(
        found for file in files() for found in imports_of(file, file.read_text(encoding="utf-8"))
    )


def broken(rule: str, offenders: list[str]) -> None:
    if offenders:
        pytest.fail(rule + "\n  " + "\n  ".join(offenders))

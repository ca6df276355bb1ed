"""Each line of the table of frameworks in docs/ortmodule.md names tests that there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FRAMEWORKS = (
    *("DistributedDataParallel", "fully_shard", "Hugging Face", "Accelerate", "Lightning"),
    *("DeepSpeed", "wb.train", "Flower"),
)


def lines() -> dict[str, str]:
    """The column of tests, by framework."""
    text = (ROOT / "docs" / "ortmodule.md").read_text(encoding="utf-8")
    table = text.split("| framework | how | tested | test |\n", 1)[1].split("\n\n", 1)[0]
    cells = [row.strip("|").split(" | ") for row in table.splitlines()[1:]]
    return {row[0].strip(" `"): row[-1] for row in cells}


TABLE = lines()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def words(path: Path) -> Iterator[str]:
    """The literal texts of a test and of the modules of tests that it imports: its cases."""
    module = tree(path)
    imported = [each.module for each in ast.walk(module) if isinstance(each, ast.ImportFrom)]
    paths = [ROOT / f"{name.replace('.', '/')}.py" for name in imported if name]
    for each in (module, *(tree(other) for other in paths if ROOT / "tests" in other.parents)):
        for node in ast.walk(each):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_framework_has_a_line_with_its_tests(framework: str) -> None:
    (named,) = (tests for name, tests in TABLE.items() if name.startswith(framework))
    # A test without a file is of the file before it.
    found = re.findall(r"`(?:(tests/\S+\.py)::)?(test_\w+)(?:\[([\w-]+)\])?`", named)
    assert len(found) == named.count("`") / 2, f"not a test: {named}"
    assert found, "no test"
    path = ROOT
    for file, function, case in found:
        path = ROOT / file if file else path
        functions = {each.name for each in tree(path).body if isinstance(each, ast.FunctionDef)}
        assert function in functions, path
        assert not case or case in words(path), f"{function} has no case {case}"


def test_no_other_line_is_in_the_table() -> None:
    assert len(TABLE) == len(FRAMEWORKS)

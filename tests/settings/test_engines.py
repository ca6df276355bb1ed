"""The table of engines: what an entry may say, and which packages may add one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import ConfigError, EngineError
from workbench.extensions.native_extension import EXTENSIONS
from workbench.settings.config import make_config
from workbench.settings.engines import (
    BUILT_IN,
    EngineInfo,
    engine_table,
    offered_engines,
    registration_problems,
)
from workbench.settings.kernel_variants import VARIANTS
from workbench.settings.operator_kernels import FAMILIES

ENTRY = {
    "name": "lab",
    "implementation": "lab_engine:LabEngine",
    "description": "an engine of a laboratory",
    "color": "#aa5500",
    "dark_color": "#ffcc88",
}


@pytest.fixture(autouse=True)
def _read_anew() -> Iterator[None]:
    engine_table.cache_clear()
    yield
    engine_table.cache_clear()


def register(folder: Path, monkeypatch: pytest.MonkeyPatch, line: str, source: str) -> None:
    """Install a package `lab` whose one entry point is `line`."""
    info = folder / "lab-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[workbench.engines]\n{line}\n", "utf-8")
    (folder / f"{folder.name}_lab.py").write_text(source, "utf-8")
    monkeypatch.syspath_prepend(folder)


def test_names_colours_and_dashes_tell_engines_apart() -> None:
    infos = engine_table().values()
    for of in ("color", "dark_color", "dash", "description"):
        assert len({getattr(info, of) for info in infos}) == len(infos), of


def test_the_fake_engine_is_accepted_but_not_offered() -> None:
    assert set(engine_table()) - set(offered_engines()) == {"fake"}
    assert make_config({"engine": "fake"}).engine == "fake"


@pytest.mark.parametrize("engine", ["ondevise", "Fake", 3, None, ["ondevice"]])
def test_only_names_of_the_table_are_settings(engine: Any) -> None:
    with pytest.raises(ConfigError, match=r"engine=.*(Did you mean|Known: ondevice, ortmodule)"):
        make_config({"engine": engine})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "Lab"),
        ("name", "lab engine"),
        ("implementation", "lab_engine"),
        ("implementation", "lab-engine:X"),
        ("color", "red"),
        ("dark_color", "#FFCC88"),
    ],
)
def test_a_field_of_the_wrong_form_is_refused(field: str, value: str) -> None:
    with pytest.raises(EngineError, match=f"EngineInfo: {field}='{value}': give "):
        EngineInfo(**{**ENTRY, field: value})


@pytest.mark.parametrize("value", [("vtune",), "pytorch", None])
def test_a_profiler_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(EngineError, match="give a tuple of 'onnxruntime' and 'pytorch'"):
        EngineInfo(**{**ENTRY, "profilers": value})


def test_engines_that_can_be_tuned_are_built_in_and_have_kernels() -> None:
    assert VARIANTS.keys() == FAMILIES.keys() < {info.name for info in BUILT_IN}
    needed = {each.extension for of in VARIANTS.values() for each in of.values()} - {None}
    assert needed == set(EXTENSIONS)


@pytest.mark.parametrize(
    ("name", "source", "problem"),
    [
        ("lab", "INFO = 1 / 0", "ZeroDivisionError: division by zero"),
        ("lab", "INFO = {}", "is not an EngineInfo"),
        ("other", "INFO = EngineInfo(**ENTRY)", "its EngineInfo is named 'lab'"),
        (
            "fake",
            "INFO = EngineInfo(**{**ENTRY, 'name': 'fake'})",
            "the workbench has an engine of this name",
        ),
    ],
)
def test_a_wrong_entry_point_names_its_package(
    name: str, source: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = f"from workbench.settings.engines import EngineInfo\nENTRY = {ENTRY!r}\n"
    register(tmp_path, monkeypatch, f"{name} = {tmp_path.name}_lab:INFO", head + source)
    (found,) = registration_problems()
    assert f"Engine '{name}' of lab cannot be registered" in found
    assert problem in found
    assert found.endswith("Repair or uninstall lab.")
    assert list(engine_table()) == [info.name for info in BUILT_IN], "the others are there"

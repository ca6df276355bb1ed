"""The table of engines: what an entry may say, and which packages may add one."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import workbench
import workbench as wb
from workbench.errors import ConfigError, EngineError
from workbench.extensions.native_extension import EXTENSIONS
from workbench.settings.config import TrainingConfig, make_config
from workbench.settings.engines import (
    BUILT_IN,
    DEFAULT_ENGINE,
    PROFILED_ENGINE,
    EngineInfo,
    GraphKind,
    engine_info,
    engine_table,
    offered_engines,
    registration_problems,
)
from workbench.settings.kernel_variants import VARIANTS, tunable_engines, variants_of
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


def test_graphs_of_no_kind_are_refused() -> None:
    with pytest.raises(EngineError, match="graphs='jax': give 'device' or 'ortmodule', or leave"):
        EngineInfo(**{**ENTRY, "graphs": "jax"})


def test_an_engine_of_another_package_is_tuned_by_the_graphs_that_it_declares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = f"from workbench.settings.engines import EngineInfo\nENTRY = {ENTRY!r}\n"
    source += "INFO = EngineInfo(**ENTRY, graphs='device', least_memory_bytes=10**9)"
    register(tmp_path, monkeypatch, f"lab = {tmp_path.name}_lab:INFO", source)
    assert tunable_engines() == ("ondevice", "ortmodule", "lab")
    assert variants_of("lab") == variants_of("ondevice")
    assert make_config({"engine": "lab"}).graphs == GraphKind.DEVICE
    with pytest.raises(ConfigError, match="a worker of lab takes 1,000,000,000 bytes"):
        make_config({"engine": "lab", "device": {"memory_bytes": 10**8}})


NAMES = {info.name for info in BUILT_IN}
OF_OTHERS = NAMES - TrainingConfig.model_fields.keys()
"""Names of engines that are no settings either, as `ortmodule` is."""
TABLE_AND_ENGINES = ("settings/engines.py", "engines/")


def literals(node: ast.AST) -> set[object]:
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}


def decisions_by_name(source: str) -> list[int]:
    """The lines that compare something with the name of an engine, or look it up by one."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            found = NAMES & literals(node)
        elif isinstance(node, ast.Dict):
            found = OF_OTHERS & {each.value for each in node.keys if isinstance(each, ast.Constant)}
        elif isinstance(node, ast.Subscript):
            found = OF_OTHERS & literals(node.slice)
        elif isinstance(node, ast.MatchValue):
            found = NAMES & literals(node)
        else:
            continue
        lines += [node.lineno] if found else []
    return lines


@pytest.mark.parametrize(
    "source",
    [
        "config.engine == 'ondevice'",
        "config.engine in {'ortmodule', 'pytorch'}",
        "'ortmodule' not in engines",
        "x = {'ondevice': 1}[engine]",
        "TABLE['pytorch']",
        "match engine:\n case 'pytorch-compile': pass",
    ],
)
def test_decisions_by_name_are_seen(source: str) -> None:
    assert decisions_by_name(source)


def test_nothing_outside_the_engines_decides_by_the_name_of_an_engine() -> None:
    """What differs between engines is declared in `EngineInfo`, so that another may differ too."""
    package = Path(workbench.__file__).parent
    offenders = [
        f"{file.relative_to(package)}:{line}"
        for file in package.rglob("*.py")
        if not str(file.relative_to(package)).startswith(TABLE_AND_ENGINES)
        for line in decisions_by_name(file.read_text(encoding="utf-8"))
    ]
    assert not offenders


def test_defaults_stand_once_and_help_names_them() -> None:
    assert make_config({}).engine == DEFAULT_ENGINE
    for function, default in (
        (wb.personalise, DEFAULT_ENGINE),
        (wb.profile, PROFILED_ENGINE),
    ):
        assert inspect.signature(function).parameters["engine"].default == default
    for file, command, default in (
        ("training", "train", DEFAULT_ENGINE),
        ("personalise", "personalise", DEFAULT_ENGINE),
        ("profile", "profile", PROFILED_ENGINE),
    ):
        function = getattr(import_module(f"workbench.cli.commands.{file}"), command)
        (engine,) = get_type_hints(function, include_extras=True)["engine"].__metadata__
        assert f"Default: {default}." in engine.help


@pytest.mark.parametrize("value", [("vtune",), "pytorch", None])
def test_a_profiler_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(EngineError, match="give a tuple of 'onnxruntime' and 'pytorch'"):
        EngineInfo(**{**ENTRY, "profilers": value})


def test_engines_whose_kernels_can_be_chosen_are_tuned() -> None:
    assert VARIANTS.keys() == FAMILIES.keys() == {*GraphKind}
    assert [engine_info(name).graphs for name in tunable_engines()] == [
        GraphKind.DEVICE,
        GraphKind.ORTMODULE,
    ]
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

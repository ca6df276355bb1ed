"""Building the C++ extension: what is kept where, and a sentence for all that may be missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import COMMAND
from workbench.errors import EngineError
from workbench.extension_build import build_extensions as module
from workbench.extension_build.build_extensions import build_extensions, find_compiler
from workbench.extensions.native_extension import (
    EXTENSIONS,
    RECORD,
    TORCH_INTEROP,
    cache,
    native_extension,
)

needs_compiler = pytest.mark.skipif(
    find_compiler() is None, reason="there is no C++ compiler: apt-get install g++"
)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache()


@pytest.fixture
def small_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source that compiles in no time in place of the extension's."""
    source = tmp_path / "small.cpp"
    source.write_text(
        'extern "C" __attribute__((visibility("default"))) '
        'const char* workbench_torch_version() { return "0"; }\n'
    )
    # It needs no torch, which takes seconds to load.
    trial = [part.replace(", torch", "") for part in module._TRIALS[TORCH_INTEROP]]
    monkeypatch.setitem(module._TRIALS, TORCH_INTEROP, trial)
    monkeypatch.setattr(module, "sources", lambda _: [source])
    return source


@pytest.mark.parametrize("name", EXTENSIONS)
def test_a_built_extension_can_be_used(
    name: str, extension_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(extension_cache))
    extension = native_extension(name)
    assert extension.problem == ""
    said: list[str] = []
    again = build_extensions(name, report=lambda _done, _steps, what: said.append(what))
    assert (again.seconds, said) == (0.0, []), "it was built again"


@needs_compiler
def test_building_says_each_step_and_leaves_nothing_else(
    small_source: Path, empty_cache: Path
) -> None:
    said: list[tuple[int, int, str]] = []
    built = build_extensions(report=lambda *step: said.append(step))
    assert built.extension.problem == ""
    assert built.seconds > 0
    assert next(what for _, _, what in said) == "Compiling torch_interop.cpp"
    assert [done for done, _, _ in said] == [0, 1, 2, 3]
    assert {steps for _, steps, _ in said} == {3}
    record = json.loads((built.extension.folder / RECORD).read_text())
    assert record["compiler"] == find_compiler()
    kept = {path.name for path in empty_cache.iterdir()}
    assert kept == {"building.lock", built.extension.folder.name}


@pytest.mark.fault
@needs_compiler
@pytest.mark.parametrize("harm", ["torn", "no record", "no library", "a record of something else"])
def test_a_corrupt_library_is_reported_and_built_again(small_source: Path, harm: str) -> None:
    extension = build_extensions().extension
    record = extension.folder / RECORD
    match harm:
        case "torn":
            whole = extension.library.read_bytes()
            extension.library.write_bytes(whole[: len(whole) // 2])
        case "no record":
            record.unlink()
        case "no library":
            extension.library.unlink()
        case _:
            record.write_text("[]")
    problem = native_extension().problem
    assert str(extension.folder) in problem
    assert problem.endswith("To fix it: workbench build-extensions")
    assert build_extensions().extension.problem == ""


@pytest.mark.fault
@needs_compiler
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("this is no C++\n", ["exited with status 1", "small.cpp", "works without it"]),
        ('extern "C" int another;\nint nowhere();\nint x = nowhere();\n', ["exited with status 1"]),
    ],
    ids=["does not compile", "does not load"],
)
def test_a_failed_build_is_reported_with_the_compilers_message(
    small_source: Path, empty_cache: Path, source: str, words: list[str]
) -> None:
    good = build_extensions().extension
    before = good.library.read_bytes()
    small_source.write_text(source)
    with pytest.raises(EngineError) as caught:
        build_extensions(force=True)
    for word in words:
        assert word in str(caught.value)
    assert native_extension().problem == "", "the good one was lost"
    assert good.library.read_bytes() == before
    assert not list(empty_cache.glob(".*workbench-tmp-*"))


@pytest.mark.fault
def test_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, empty_cache: Path
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match=r"No C\+\+ compiler.*apt-get install g\+\+"):
        build_extensions()
    monkeypatch.setenv("CXX", "clang++-99")
    with pytest.raises(EngineError, match=r"\$CXX is 'clang\+\+-99', no program"):
        build_extensions()
    assert not native_extension().folder.exists()


@pytest.mark.fault
def test_without_torchs_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Spec:
        origin = str(tmp_path / "torch" / "__init__.py")

    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _: Spec)
    with pytest.raises(EngineError, match=r"no C\+\+ headers in .*--force-reinstall"):
        build_extensions()
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EngineError, match="torch is not installed"):
        build_extensions()


@pytest.mark.fault
def test_without_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "sources", lambda _: [])
    with pytest.raises(EngineError, match="sources of the extension are missing"):
        build_extensions()


@pytest.mark.fault
def test_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    with pytest.raises(EngineError, match="Set XDG_CACHE_HOME to a writable folder"):
        build_extensions()


@pytest.mark.fault
@needs_compiler
def test_a_compiler_that_hangs_is_given_up(
    small_source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "slow"
    compiler.write_text("#!/bin/sh\nexec sleep 60\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setattr(module, "TIMEOUT_S", 0.2)
    with pytest.raises(EngineError, match=r"slow timed out after"):
        build_extensions()


def test_set_up_continues_without_a_compiler(tmp_path: Path) -> None:
    """As the Makefile calls it; without --if-possible it is an error."""
    environment = {**os.environ, "PATH": str(tmp_path), "COLUMNS": "300"}
    environment.pop("CXX", None)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, "build-extensions", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    outcome = run("--if-possible")
    assert outcome.returncode == 0, outcome.stderr
    assert "ORTModule will not use PyTorch's kernels" in outcome.stderr
    assert "Training on device and ORTModule will not use" in outcome.stderr
    assert "apt-get install g++" in outcome.stderr
    strict = run()
    assert strict.returncode == 1
    assert "Error:" in strict.stderr
    assert shutil.which("c++", path=str(tmp_path)) is None


def test_the_command_says_where_it_is(extension_cache: Path) -> None:
    done = subprocess.run(
        [COMMAND, "build-extensions", "--json"],
        env={**os.environ, "XDG_CACHE_HOME": str(extension_cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert [each["name"] for each in found] == list(EXTENSIONS)
    for each in found:
        assert Path(each["library"]).is_file()
        assert each["seconds"] == 0

"""The programs of a bundle: Python, C and C++ are run, the others compiled or parsed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.artifacts.bundle.conftest import Unzip
from workbench.artifacts.bundle.description import Description, Tensor
from workbench.artifacts.bundle.languages import DECLARED, LANGUAGES, PARSED, RUN
from workbench.artifacts.bundle.programs import programs

HERE = Path(__file__).parent
C_API = HERE / "c_api"
DECLARATIONS = HERE / "declarations"
EXPORT_TOLERANCE = 1e-5

RUN_WITHOUT_TORCH = """
import runpy, sys
try:
    runpy.run_path(sys.argv.pop(1), run_name="__main__")
finally:
    loaded = sorted(name for name in sys.modules if name.split(".")[0] == "torch")
    assert not loaded, loaded
"""


PACKAGES = {
    "gcc": "gcc",
    "g++": "g++",
    "objcopy": "binutils",
    "javac": "default-jdk-headless",
    "mcs": "mono-mcs",
    "kotlinc": "kotlin",
}
"""Debian's package of each compiler; `make test` installs javac's and mcs's where it may."""


def need(command: str) -> str:
    """The path of a compiler; the test is skipped where there is none."""
    found = shutil.which(command)
    if found is None:
        pytest.skip(
            f"there is no {command} here to compile the program with: apt-get install "
            f"{PACKAGES[command]}"
        )
    return found


def need_package(name: str) -> Any:
    """A parser from PyPI, of the extra `test`."""
    try:
        return import_module(name)
    except ImportError:
        if os.environ.get("CI"):
            pytest.fail(f"CI lacks {name}, which the extra `test` installs")
        pytest.skip(f"{name} is not installed: pip install '.[test]'")


def execute(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=300, check=False
    )


def run_python(folder: Path) -> subprocess.CompletedProcess[str]:
    # As a person would: -I, so that nothing of this checkout is found.
    script = folder / "python" / "train.py"
    return execute(sys.executable, "-I", "-c", RUN_WITHOUT_TORCH, script, folder)


def run_compiled(folder: Path, source: Path, *compiler: str) -> subprocess.CompletedProcess[str]:
    """Compile a program without warnings, and run it on the library of the Python package."""
    compiler = (need(compiler[0]), *compiler[1:])
    rename = need("objcopy")
    program, host, library = (folder / name for name in ("program.o", "host.o", "program.so"))
    strict = ("-Wall", "-Wextra", "-Werror", "-fPIC", "-I", str(C_API), "-c")
    for made in (
        execute(*compiler, *strict, source, "-o", program),
        execute(rename, "--redefine-sym", "main=program_main", program),
        execute(need("gcc"), "-std=c11", *strict, C_API / "host.c", "-o", host),
        execute(compiler[0], "-shared", program, host, "-lm", "-o", library),
    ):
        assert made.returncode == 0, made.stderr
    return execute(sys.executable, HERE / "package_library.py", library, folder)


def run_c(folder: Path) -> subprocess.CompletedProcess[str]:
    return run_compiled(folder, folder / "c" / "train.c", "gcc", "-std=c11")


def run_cpp(folder: Path) -> subprocess.CompletedProcess[str]:
    return run_compiled(folder, folder / "cpp" / "train.cpp", "g++", "-std=c++17")


RUNS = {"Python": run_python, "C": run_c, "C++": run_cpp}


@pytest.mark.parametrize(
    ("bundle", "language"),
    [
        ("classifier", "Python"),
        pytest.param("regression", "C++", marks=pytest.mark.sweep),
        ("token", "C"),
        pytest.param("classifier", "C", marks=pytest.mark.sweep),
        pytest.param("classifier", "C++", marks=pytest.mark.sweep),
        pytest.param("regression", "Python", marks=pytest.mark.sweep),
        pytest.param("regression", "C", marks=pytest.mark.sweep),
        pytest.param("token", "Python", marks=pytest.mark.sweep),
    ],
)
def test_a_program_trains_saves_and_exports(bundle: str, language: str, unzip: Unzip) -> None:
    folder = unzip(bundle)
    ended = RUNS[language](folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    described = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))["description"]
    losses = [float(found) for found in re.findall(r"step \d+ loss (\S+)", ended.stdout)]
    assert len(losses) == described["steps"]
    before, after = (
        float(re.search(rf"loss {when} training ([^\s,]+)", ended.stdout)[1])  # type: ignore[index]
        for when in ("before", "after")
    )
    assert before == pytest.approx(described["loss_before"], rel=1e-4)
    assert after < before
    if bundle != "token":  # whose Dropout draws otherwise in another process
        assert losses[-1] < losses[0]
        assert after == pytest.approx(described["loss_after"], rel=1e-3)
    assert f"parameter {described['parameter']} " in ended.stdout

    held = execute(sys.executable, "-m", "tests.artifacts.bundle.exported", folder)
    assert held.returncode == 0, held.stderr
    difference = float(held.stdout.split()[-1])
    assert difference <= EXPORT_TOLERANCE, f"largest difference {difference}"


@pytest.mark.parametrize("language", ["Python", "C"])
def test_a_device_with_other_losses_reports_it(language: str, unzip: Unzip) -> None:
    folder = unzip("classifier")
    sample = folder / "sample" / "input_0.bin"
    sample.write_bytes(bytes(sample.stat().st_size))
    ended = RUNS[language](folder)
    assert ended.returncode == 1
    assert "the loss is not the expected one" in ended.stdout


def check_java(source: Path, folder: Path) -> str:
    stubs = [*(DECLARATIONS / "java").rglob("*.java")]
    ended = execute(
        *(need("javac"), "-encoding", "UTF-8", "-Xlint:all,-serial", "-Werror"),
        *("-d", folder, *stubs, source),
    )
    return "" if ended.returncode == 0 else ended.stderr


def check_kotlin(source: Path, folder: Path) -> str:
    compiler = need("kotlinc")
    classes = folder / "classes"
    made = execute(need("javac"), "-d", classes, *(DECLARATIONS / "java").rglob("*.java"))
    assert made.returncode == 0, made.stderr
    # `use` of an AutoCloseable, which newer standard libraries hold themselves.
    library = Path(compiler).resolve().parents[1] / "lib" / "kotlin-stdlib-jdk7.jar"
    path = f"{classes}:{library}" if library.exists() else str(classes)
    ended = execute(compiler, "-cp", path, source, "-d", folder / "out")
    return "" if ended.returncode == 0 else ended.stderr


def check_c_sharp(source: Path, folder: Path) -> str:
    stubs = DECLARATIONS / "OnnxRuntime.cs"
    ended = execute(need("mcs"), "-warnaserror", f"-out:{folder / 'program.exe'}", stubs, source)
    return "" if ended.returncode == 0 else ended.stdout + ended.stderr


def check_objective_c(source: Path, folder: Path) -> str:
    index = need_package("clang.cindex").Index.create()
    unit = index.parse(
        str(source),
        args=[
            *("-x", "objective-c", "-fobjc-arc", "-fobjc-runtime=macosx-10.15"),
            *("-target", "arm64-apple-ios15", "-Wall", "-nostdinc"),
            *("-I", str(DECLARATIONS / "objective-c")),
        ],
    )
    return "\n".join(map(str, unit.diagnostics))


def check_swift(source: Path, folder: Path) -> str:
    parser, swift = need_package("tree_sitter"), need_package("tree_sitter_swift")
    tree = parser.Parser(parser.Language(swift.language())).parse(source.read_bytes())
    return "a syntax error" if tree.root_node.has_error else ""


CHECKS: dict[str, tuple[Callable[[Path, Path], str], str, tuple[str, str]]] = {
    "C#": (check_c_sharp, DECLARED, ("OptimizerStep", "OptimizerStop")),
    "Java": (check_java, DECLARED, ("optimizerStep", "optimizerStop")),
    "Kotlin": (check_kotlin, DECLARED, ("optimizerStep", "optimizerStop")),
    "Objective-C": (check_objective_c, DECLARED, ("optimizerStepWith", "optimizerStopWith")),
    "Swift": (check_swift, PARSED, ("func loss(", "func loss)")),
}
"""The check, what the README says of it, and a mistake that it finds."""

SLOW = {"Kotlin"}


def checked_languages() -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.sweep if name in SLOW else ()) for name in CHECKS]


def odd() -> Description:
    """Names that could end a string or a comment, an output and an input without axes."""
    name = 'a"b$c ${d} \\(e) \\u0022 */ %d é:0'
    return Description(
        model=name + "\\\n#error",
        inputs=(
            Tensor(name, "float32", ("batch", "frames", 2), (3, 4, 2), "sample/input_0.bin"),
            Tensor("ids", "int64", ("batch",), (3,), "sample/input_1.bin"),
            Tensor("scale", "uint8", (), (), "sample/input_2.bin"),
        ),
        targets=(Tensor("target_0", "int32", ("batch",), (3,), "sample/target_0.bin"),),
        results=(
            Tensor("loss", "float32", (), (), ""),
            Tensor(name, "float32", ("batch", 4), (3, 4), ""),
        ),
        outputs=(name, "second"),
        parameter=name,
        accumulation=3,
        learning_rate=1.0,
        loss_before=2.0,
        loss_after=1e-9,
    )


def write_programs(description: Description, folder: Path) -> None:
    for name, text in programs(description).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def source_of(language: str) -> str:
    return next(one.file for one in LANGUAGES if one.name == language)


@pytest.mark.parametrize("language", checked_languages())
@pytest.mark.sweep
@pytest.mark.parametrize("bundle", ["classifier", "odd"])
def test_a_program_passes_its_check(
    bundle: str, language: str, unzip: Unzip, tmp_path: Path
) -> None:
    if bundle == "odd":
        write_programs(odd(), tmp_path)
    folder = tmp_path if bundle == "odd" else unzip(bundle)
    check, _, _ = CHECKS[language]
    problem = check(folder / source_of(language), tmp_path)
    assert not problem, problem


@pytest.mark.parametrize("language", checked_languages())
def test_the_check_finds_a_mistake(language: str, tmp_path: Path) -> None:
    write_programs(odd(), tmp_path)
    check, _, (right, wrong) = CHECKS[language]
    source = tmp_path / source_of(language)
    text = source.read_text(encoding="utf-8")
    assert right in text
    source.write_text(text.replace(right, wrong), encoding="utf-8")
    assert check(source, tmp_path)


def test_odd_names_compile_in_c_and_python(tmp_path: Path) -> None:
    write_programs(odd(), tmp_path)
    for compiler, source in (("gcc", "c/train.c"), ("g++", "cpp/train.cpp")):
        strict = ("-Wall", "-Wextra", "-Werror", "-I", C_API, "-fsyntax-only")
        made = execute(need(compiler), *strict, tmp_path / source)
        assert made.returncode == 0, made.stderr
    compile((tmp_path / "python" / "train.py").read_text(encoding="utf-8"), "train.py", "exec")


def test_the_readme_says_what_is_checked_here() -> None:
    """Each binding has a row; the words are those of the check that runs here."""
    says = {language.name: language.checked for language in LANGUAGES}
    assert says.keys() == RUNS.keys() | CHECKS.keys()
    for name, (_, words, _) in CHECKS.items():
        assert says[name] == words
    assert all(says[name].startswith(RUN) for name in ("C", "C++"))
    assert says["Python"].startswith("run with")
    readme = programs(odd())["README.md"]
    for words in says.values():
        assert words in readme


def test_a_binding_without_the_element_type_has_no_program() -> None:
    description = odd()
    mask = Tensor("mask", "bool", ("batch",), (3,), "sample/input_0.bin")
    written = programs(description._replace(inputs=(mask,)))
    assert "swift/Train.swift" not in written
    assert "objective-c/train.m" not in written
    assert {"c/train.c", "java/Train.java", "csharp/Program.cs"} <= written.keys()
    assert "not written: no element type for 'mask', bool" in written["README.md"]

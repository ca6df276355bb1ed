"""Compiles the C++ extensions: PyTorch's kernels for ORTModule, the workbench's kernels."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from workbench.errors import EngineError
from workbench.extensions.native_extension import (
    DEVICE_KERNELS,
    REBUILD,
    RECORD,
    TORCH_INTEROP,
    NativeExtension,
    cache,
    digest_of,
    native_extension,
    sources,
)
from workbench.files.temporary_folder import temporary_folder

COMPILERS = ("c++", "g++", "clang++")
TIMEOUT_S = 900.0
"""Per file; a slow machine takes a minute."""
LONGEST_OUTPUT = 2_000
"""Number of characters of a compiler's output that are shown, from its end."""

_FLAGS = {
    TORCH_INTEROP: ("-std=c++20", "-O3", "-fPIC", "-fvisibility=hidden", "-Wno-psabi"),
    # Loops are vectorised as `#pragma omp simd` says, without the runtime of OpenMP. The last two
    # change no result.
    DEVICE_KERNELS: (
        *("-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-fopenmp-simd"),
        *("-fno-math-errno", "-fno-trapping-math"),
    ),
}
_TRIALS = {
    TORCH_INTEROP: (
        *("-W", "ignore", "-c"),
        "import ctypes, sys, torch; ctypes.CDLL(sys.argv[1]).workbench_torch_version",
    ),
    DEVICE_KERNELS: ("-m", "workbench.ort.kernel_library.check"),
}
"""Arguments of Python, before the library's path, that load and try it in a child process."""
_IN_DOUBT = {
    TORCH_INTEROP: "ORTModule also works without it",
    DEVICE_KERNELS: "training on device also works without it",
}

Report = Callable[[int, int, str], None]
"""Called with the number of finished steps, the number of steps, and the current step."""


class ExtensionBuild(NamedTuple):
    """The result of building the extension."""

    extension: NativeExtension
    seconds: float
    """Duration; 0 if it was already built."""


def find_compiler() -> str | None:
    """Path of a C++ compiler: $CXX, or the first on the PATH."""
    names = [name for name in (os.environ.get("CXX"), *COMPILERS) if name]
    return next(filter(None, map(shutil.which, names)), None)


def build_extensions(
    name: str = TORCH_INTEROP,
    *,
    force: bool = False,
    report: Report = lambda _done, _steps, _what: None,
) -> ExtensionBuild:
    """Compile an extension for the installed torch and ONNX Runtime, unless it is built.

    It is stored in the user's cache, not in the installed packages.

    Args:
        name: one of `EXTENSIONS`.
        force: compile even if a valid one exists.
        report: called before each step, and at the end.

    Raises:
        EngineError: there is no compiler, no torch with its headers or no source, it does not
            compile or load, or the cache cannot be written; says how to fix it.
    """
    try:
        with _locked():
            extension = native_extension(name)
            if not extension.problem and not force:
                return ExtensionBuild(extension, 0.0)
            started = time.perf_counter()
            _build(extension, report)
            return ExtensionBuild(native_extension(name), time.perf_counter() - started)
    except OSError as error:
        raise EngineError(
            f"The extension cannot be stored in {cache()}: {error}. "
            "Set XDG_CACHE_HOME to a writable folder."
        ) from error


@contextmanager
def _locked() -> Iterator[None]:
    """Let one process build at a time; others wait for it."""
    cache().mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(cache() / "building.lock"):
        yield


def _build(extension: NativeExtension, report: Report) -> None:
    name = extension.name
    compiler = _compiler(name)
    headers, libraries = _torch() if name == TORCH_INTEROP else ((), None)
    with temporary_folder(target=extension.folder) as folder:
        files = _translation_units(name, folder)
        steps = len(files) + 2
        objects = []
        for done, source in enumerate(files):
            report(done, steps, f"Compiling {source.name}")
            objects.append(f"{folder}/{source.stem}.o")
            include = [part for path in headers for part in ("-isystem", str(path))]
            _run(name, [compiler, *_FLAGS[name], *include, "-c", str(source), "-o", objects[-1]])
        report(len(files), steps, "Linking")
        made = folder / "made"
        made.mkdir()
        library = made / extension.library.name
        link = [] if libraries is None else [f"-L{libraries}", "-ltorch_cpu", "-lc10"]
        _run(name, [compiler, "-shared", *objects, "-o", str(library), *link])
        report(len(files) + 1, steps, "Testing it in a child process")
        _run(name, [sys.executable, "-P", *_TRIALS[name], str(library)])
        record = {"sha256": digest_of(library), "compiler": compiler, "flags": _FLAGS[name]}
        (made / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
        if extension.folder.exists():
            # Processes that have loaded the old library keep it.
            shutil.move(extension.folder, f"{folder}/old")
        os.replace(made, extension.folder)
    report(steps, steps, "Done")


def _translation_units(name: str, folder: Path) -> list[Path]:
    """The files to compile one by one.

    Those that include PyTorch's headers are compiled as one, written to `folder`: reading the
    headers takes most of the time.
    """
    files = [source for source in sources(name) if source.suffix == ".cpp"]
    if name != TORCH_INTEROP:
        return files
    whole = folder / f"{name}.cpp"
    whole.write_text("".join(f'#include "{file}"\n' for file in files), encoding="utf-8")
    return [whole]


def _compiler(name: str) -> str:
    """The compiler; the sources are there too."""
    if not sources(name):
        raise EngineError(
            "The C++ sources of the extension are missing. To fix it: "
            "pip install --force-reinstall --no-deps onnxruntime-training-workbench"
        )
    compiler = find_compiler()
    if compiler is None:
        given = os.environ.get("CXX")
        raise EngineError(
            f"No C++ compiler found: $CXX is {f'{given!r}, no program' if given else 'not set'}, "
            f"and the PATH has none of {', '.join(COMPILERS)}. To fix it: apt-get install g++, "
            f"then {REBUILD}"
        )
    return compiler


def _torch() -> tuple[tuple[Path, ...], Path]:
    """Torch's include folders, and its library folder."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise EngineError("torch is not installed. To fix it: pip install 'torch>=2.13,<2.14'")
    root = Path(spec.origin).parent
    include = root / "include"
    if not (include / "ATen" / "core" / "dispatch" / "Dispatcher.h").is_file():
        raise EngineError(
            f"The installed torch has no C++ headers in {include}. "
            "To fix it: pip install --force-reinstall --no-deps torch"
        )
    return (include, include / "torch" / "csrc" / "api" / "include"), root / "lib"


def _run(name: str, command: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(
            f"{Path(command[0]).name} timed out after {TIMEOUT_S:.0f} s. "
            f"Reduce the load of the machine and run {REBUILD} again."
        ) from None
    if done.returncode:
        said = done.stdout.strip()[-LONGEST_OUTPUT:] or "(empty)"
        raise EngineError(
            f"The extension was not built: {Path(command[0]).name} exited with status "
            f"{done.returncode}. Nothing was changed; {_IN_DOUBT[name]}. "
            f"Its output:\n{said}"
        )

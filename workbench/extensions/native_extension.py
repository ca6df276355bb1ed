"""The compiled extensions: their sources, their locations, and whether they can be used."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from workbench.files.user_cache import user_cache

TORCH_INTEROP, DEVICE_KERNELS = "torch_interop", "device_kernels"
"""PyTorch's kernels for ORTModule, and the workbench's, without torch, for ORTModule and on
device."""

EXTENSIONS = (DEVICE_KERNELS, TORCH_INTEROP)

REBUILD = "workbench build-extensions"
"""The command that builds them, also if the existing ones are invalid."""

RECORD = "built.json"
"""Record in the library's folder: compiler, flags and hash."""

_WHAT = {
    TORCH_INTEROP: "PyTorch's kernels",
    DEVICE_KERNELS: "The workbench's own kernels",
}
_RUNTIMES = ("onnxruntime-training-cpu", "onnxruntime-training")


class NativeExtension(NamedTuple):
    """An extension for the installed versions."""

    folder: Path
    """Its folder, which may not exist."""
    problem: str
    """Why it cannot be used and what to do; empty if it can."""
    name: str = TORCH_INTEROP
    """One of `EXTENSIONS`."""

    @property
    def library(self) -> Path:
        return self.folder / f"{self.name}.so"


def native_extension(name: str = TORCH_INTEROP) -> NativeExtension:
    """Find one of `EXTENSIONS` and verify its hash; it is not loaded."""
    found = NativeExtension(cache() / key(name), "", name)
    return found._replace(problem=_problem(found))


def cache() -> Path:
    """The user's cache folder for compiled extensions."""
    return user_cache() / "extensions"


def key(name: str = TORCH_INTEROP) -> str:
    """A unique name for the installed versions, the processor and the sources."""
    digest = hashlib.sha256()
    for source in sources(name):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    runtime = next((f"ort{v}" for v in map(_version, _RUNTIMES) if v), "ort-none")
    torch = [f"torch{_version('torch') or '-none'}"] if name == TORCH_INTEROP else []
    machine = f"{sys.platform}-{platform.machine()}"
    return "-".join([name, *torch, runtime, python, machine, digest.hexdigest()[:12]])


def sources(name: str = TORCH_INTEROP) -> list[Path]:
    """The C++ files and headers: next to the package in a source tree, inside it in a wheel."""
    here = Path(__file__).resolve().parent
    for folder in (here.parents[1] / "extensions" / name, here / name):
        if found := sorted([*folder.glob("*.cpp"), *folder.glob("*.h")]):
            return found
    return []


def digest_of(library: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(library.read_bytes()).hexdigest()


def _problem(extension: NativeExtension) -> str:
    folder, library = extension.folder, extension.library
    if not folder.is_dir():
        what = _WHAT[extension.name]
        return f"{what} are not built for the installed versions. To build them: {REBUILD}"
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        valid = record["sha256"] == digest_of(library)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{folder} is corrupt ({error!r}). To fix it: {REBUILD}"
    # A corrupt library can crash the process that loads it.
    return "" if valid else f"{library} was changed after it was built. To fix it: {REBUILD}"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

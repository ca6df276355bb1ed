"""The compiled extension: its sources, its location, and whether it can be used."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

NAME = "torch_interop"
REBUILD = "workbench build-extensions"
"""The command that builds it, also if the existing one is invalid."""

RECORD = "built.json"
"""Record in the library's folder: compiler, flags and hash."""

_LIBRARY = f"{NAME}.so"
_RUNTIMES = ("onnxruntime-training-cpu", "onnxruntime-training")


class NativeExtension(NamedTuple):
    """The extension for the installed versions."""

    folder: Path
    """Its folder, which may not exist."""
    problem: str
    """Why it cannot be used and what to do; empty if it can."""

    @property
    def library(self) -> Path:
        return self.folder / _LIBRARY


def native_extension() -> NativeExtension:
    """Find the extension and verify its hash; it is not loaded."""
    folder = cache() / key()
    return NativeExtension(folder, _problem(folder))


def cache() -> Path:
    """The user's cache folder for compiled extensions: in XDG_CACHE_HOME, or ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    home = Path(base) if base else Path.home() / ".cache"
    return home / "onnxruntime-training-workbench" / "extensions"


def key() -> str:
    """A unique name for the installed versions, the processor and the sources."""
    digest = hashlib.sha256()
    for source in sources():
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    runtime = next((f"ort{v}" for v in map(_version, _RUNTIMES) if v), "ort-none")
    torch = _version("torch") or "-none"
    machine = f"{sys.platform}-{platform.machine()}"
    return "-".join([NAME, f"torch{torch}", runtime, python, machine, digest.hexdigest()[:12]])


def sources() -> list[Path]:
    """The C++ files: next to the package in a source tree, inside it in a wheel."""
    here = Path(__file__).resolve().parent
    for folder in (here.parents[1] / "extensions" / NAME, here / NAME):
        if found := sorted(folder.glob("*.cpp")):
            return found
    return []


def digest_of(library: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(library.read_bytes()).hexdigest()


def _problem(folder: Path) -> str:
    library = folder / _LIBRARY
    if not folder.is_dir():
        return (
            f"PyTorch's kernels are not built for the installed versions. To build them: {REBUILD}"
        )
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

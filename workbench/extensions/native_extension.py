"""The compiled extension: where its sources are, where the result is kept, whether it is good."""

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
"""The command that builds it, anew where it is there but not good."""

RECORD = "built.json"
"""Beside the library: what it was built from and with, and its digest."""

_LIBRARY = f"{NAME}.so"
_RUNTIMES = ("onnxruntime-training-cpu", "onnxruntime-training")


class NativeExtension(NamedTuple):
    """What there is of the extension for the versions that are installed here."""

    folder: Path
    """Where it is kept, whether it is there or not."""
    problem: str
    """Why it cannot be used and what to do; empty where it can."""

    @property
    def library(self) -> Path:
        return self.folder / _LIBRARY


def native_extension() -> NativeExtension:
    """Look for the extension, and at every byte of it; loads nothing."""
    folder = cache() / key()
    return NativeExtension(folder, _problem(folder))


def cache() -> Path:
    """The user's folder for what was compiled: in XDG_CACHE_HOME, or ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    home = Path(base) if base else Path.home() / ".cache"
    return home / "onnxruntime-training-workbench" / "extensions"


def key() -> str:
    """A name that differs wherever another build is needed: versions, processor and sources."""
    digest = hashlib.sha256()
    for source in sources():
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    runtime = next((f"ort{v}" for v in map(_version, _RUNTIMES) if v), "ort-none")
    torch = _version("torch") or "-none"
    machine = f"{sys.platform}-{platform.machine()}"
    return "-".join([NAME, f"torch{torch}", runtime, python, machine, digest.hexdigest()[:12]])


def sources() -> list[Path]:
    """The C++ files: beside the package in a source tree, inside it where a wheel put them."""
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
        return f"PyTorch's kernels are not built for these versions. To build them: {REBUILD}"
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        whole = record["sha256"] == digest_of(library)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{folder} does not hold what was built there ({error!r}). To mend: {REBUILD}"
    # A damaged library can kill the process that loads it.
    return "" if whole else f"{library} is not as it was built. To mend: {REBUILD}"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

"""The key of an export: a digest of all that its result depends on, except the user's code files.

Installed packages count by their versions, and the workbench by its source files. A difference that
does not matter costs an export; one that is left out could give a wrong result.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.export_cache.code_used import own_packages
from workbench.files.regular_file import open_regular
from workbench.machine.machine import describe_machine
from workbench.user_code.user_code import PATH_VARIABLE

FORMAT = 1
"""Of the entries. Another number makes every key another."""

_CHUNK_BYTES = 1 << 20

_IRRELEVANT = frozenset(
    {
        *("_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "WINDOWID", "DISPLAY", "TMPDIR"),
        *("MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE", "OMP_WAIT_POLICY"),
    }
)
_IRRELEVANT_BEGINNINGS = ("WORKBENCH_", "JPY_", "PYTEST_", "SSH_", "TERM", "XDG_", "PYDEVD_")
"""Environment variables of where and how a process was started, which do not affect its graphs."""


def export_key(process: str, settings: Mapping[str, Any]) -> str:
    """The key, 64 hexadecimal digits.

    Args:
        process: see `process_key`.
        settings: of the export, as JSON.
    """
    return hashlib.sha256(json.dumps([process, settings], sort_keys=True).encode()).hexdigest()


def process_key(folder: Path, environment: Mapping[str, str]) -> str:
    """A digest, 64 hexadecimal digits, of what exports a saved model, whatever its settings.

    Args:
        folder: of the model: everything in it goes into the export, names and contents.
        environment: of the process that would export.
    """
    machine = describe_machine()
    parts = {
        "format": FORMAT,
        "python": sys.version,
        "machine": [machine["processor"], machine["cores"]],
        "packages": _installed(),
        "environment": _relevant(environment),
    }
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    for root in (folder, *own_packages()):
        for path in _files(root):
            digest.update(f"\0{path.relative_to(root)}\0".encode(errors="surrogateescape"))
            digest.update(_file_digest(path))
    return digest.hexdigest()


def _relevant(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name == PATH_VARIABLE
        or not (name in _IRRELEVANT or name.startswith(_IRRELEVANT_BEGINNINGS))
    }


def _installed() -> list[str]:
    """Names and versions of the installed packages, as their folders of metadata are called.

    A folder inside an installed package, as setuptools puts its own on the path once it is
    imported, counts by that package's version.
    """
    sites = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    inside = tuple(f"{site}{os.sep}" for site in sites)
    folders = [Path(path) for path in sys.path if Path(path).is_dir()]
    folders = [folder for folder in folders if not str(folder).startswith(inside)]
    names = {path.name for folder in folders for path in folder.iterdir()}
    return sorted(name for name in names if name.endswith((".dist-info", ".egg-info")))


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", "static"))
        for name in sorted(names):
            yield Path(folder, name)


def _file_digest(path: Path) -> bytes:
    digest = hashlib.sha256()
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.digest()

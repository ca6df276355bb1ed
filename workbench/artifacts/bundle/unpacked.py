"""Default folders of unpacked bundles, in the workbench's home."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

from workbench.files.sha256 import sha256
from workbench.run_folder.run_folder import home

UNUSED_S = 30 * 24 * 3600.0
"""Time without a use after which an unpacked bundle is removed: the zip can be unpacked again."""

_NAME = re.compile(r".+-[0-9a-f]{16}")


def folder_of(bundle: Path) -> Path:
    """The folder for the content of this zip, named after it and its SHA-256."""
    return home() / "bundles" / f"{bundle.stem[:80]}-{sha256(bundle)[:16]}"


def note_use(folder: Path) -> None:
    """Record that an unpacked bundle is used now."""
    os.utime(folder)


def remove_unused(now: float | None = None) -> None:
    """Remove the unpacked bundles that were not used for `UNUSED_S`, and nothing else.

    Args:
        now: seconds since the epoch; None: the present.
    """
    oldest = (time.time() if now is None else now) - UNUSED_S
    parent = home() / "bundles"
    for folder in parent.iterdir() if parent.is_dir() else ():
        own = _NAME.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink()
        if own and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)

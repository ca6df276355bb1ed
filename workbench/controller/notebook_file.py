"""The file of the notebook that this kernel belongs to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

TIMEOUT_S = 5


def notebook_path() -> Path | None:
    """Path of the notebook, if Jupyter Server passes it to the kernel; else None."""
    name = os.environ.get("JPY_SESSION_NAME", "")
    return Path(name) if name.endswith(".ipynb") else None


def is_tracked(path: Path) -> bool:
    """Whether git tracks a file; False without git."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "--error-unmatch", "--", path.name],
            cwd=path.parent,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def may_save() -> bool:
    """Whether a page may save its notebook automatically: not if it is under version control."""
    path = notebook_path()
    return path is not None and not is_tracked(path)

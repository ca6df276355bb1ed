"""Search path of user modules, for worker processes."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path


def search_entry(module_name: str) -> str | None:
    """The folder that must be in `sys.path` to import `module_name`.

    None for installed packages, the standard library, and modules without a file.
    """
    root = sys.modules.get(module_name.partition(".")[0])
    if root is None or root.__name__ == "__main__":
        return None
    # A namespace package has no file, and a module in a single file has no path.
    places = [*getattr(root, "__path__", ()), getattr(root, "__file__", None)]
    if places[0] is None:
        return None
    folder = Path(places[0]).absolute().parent
    installed = {Path(path) for path in sysconfig.get_paths().values()}
    return None if folder in installed else str(folder)

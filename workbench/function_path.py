"""A function of the user's own by its name, "package.module:function"."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.errors import ConfigError, nearest

FUNCTION_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def import_function(path: str) -> Callable[..., Any]:
    """What `path` names, looked for in the working directory too.

    Raises:
        ConfigError: it cannot be imported, or is no function.
    """
    module_name, _, name = path.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that it shadows nothing that is installed
        importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise ConfigError(
            [f"{path!r}: cannot import {module_name!r}: {type(error).__name__}: {error}."]
        ) from error
    found = getattr(module, name, None)
    if not callable(found):
        public = [known for known, value in vars(module).items() if callable(value)]
        raise ConfigError(
            [f"{path!r}: {module_name!r} has no such function. {nearest(name, public)}"]
        )
    function: Callable[..., Any] = found
    return function

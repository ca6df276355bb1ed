"""Finds the object of a name "package.module:name": a factory, or the record of a sample."""

from __future__ import annotations

import importlib
from typing import Any

from workbench.errors import ModelError, exception_text, nearest


def find_object(path: str) -> Any:
    """The object named by "package.module:name"; its module is imported.

    Raises:
        ModelError: there is no such module or nothing of that name in it.
    """
    module_name, _, object_name = path.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except SystemExit as error:
        raise ModelError(
            f"{module_name!r} of {path!r} ends the program when it is imported "
            f"({exception_text(error)}). Put what it runs as a script under "
            "if __name__ == '__main__'."
        ) from error
    except Exception as error:
        raise ModelError(
            f"Cannot import {module_name!r} for {path!r}: {exception_text(error)}. The "
            "working directory and sys.path are searched."
        ) from error
    for part in object_name.split("."):
        if not hasattr(found, part):
            public = [name for name in vars(found) if not name.startswith("_")]
            raise ModelError(f"{module_name!r} has no {object_name!r}. {nearest(part, public)}")
        found = getattr(found, part)
    return found

"""`python -m workbench.artifacts REQUEST.json`: generate the artifacts that a parent asked for."""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from workbench.artifacts.build import build
from workbench.artifacts.request import Request
from workbench.errors import ConfigError, WorkbenchError

EXIT_REFUSED = 1
"""The model or the settings cannot be used; standard output says why."""


def main() -> int:
    request = Request.read(Path(sys.argv[1]))
    try:
        build(request, lambda text: say(phase=text))
    except WorkbenchError as error:
        traceback.print_exc()
        problems = error.problems if isinstance(error, ConfigError) else ()
        record = {"type": type(error).__name__, "message": str(error), "problems": problems}
        say(error=record)
        return EXIT_REFUSED
    except OSError as error:
        traceback.print_exc()
        message = (
            f"The artifacts cannot be written: {error.strerror or error}. Nothing was left behind; "
            f"free some space or choose another directory."
        )
        say(error={"type": "ArtifactsError", "message": message, "problems": ()})
        return EXIT_REFUSED
    say(done=True)
    return 0


def say(**message: Any) -> None:
    """Write one message to the parent."""
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    # All is written; to unload torch takes half a second and has nothing left to do.
    os._exit(status)

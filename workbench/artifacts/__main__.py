"""`python -m workbench.artifacts REQUEST.json`: generate the artifacts that a parent asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from workbench.artifacts.build import build
from workbench.artifacts.request import Request
from workbench.child_process.child import serve
from workbench.errors import ArtifactsError
from workbench.files.disk import disk_problem


def generate(report: Callable[[str], None]) -> None:
    """Build what the request asks for.

    Raises:
        WorkbenchError: the model or the settings cannot be used, or nothing can be written.
    """
    request = Request.read(Path(sys.argv[1]))
    try:
        build(request, report)
    except OSError as error:
        problem = disk_problem(error) or f"{error.strerror or error}."
        raise ArtifactsError(
            f"The artifacts cannot be written. {problem} Nothing was left behind."
        ) from error


if __name__ == "__main__":
    serve(generate)

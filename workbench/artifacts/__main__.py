"""`python -m workbench.artifacts REQUEST.json`: generates training artifacts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from workbench.artifacts.generation.build import build
from workbench.artifacts.request import ArtifactsRequest
from workbench.child_process.child import serve
from workbench.export_cache.code_used import CodeRecorder, CodeUsed
from workbench.files.json_file import write_json


def generate(report: Callable[[str], None]) -> None:
    """Build the artifacts of the request.

    Raises:
        WorkbenchError: the model or the settings cannot be used.
        OSError: they cannot be written.
    """
    request = ArtifactsRequest.read(Path(sys.argv[1]))
    ignored = (request.model, request.directory.parent)
    recorder = CodeRecorder(ignored) if request.record_code else None
    build(request, report)
    if recorder is not None:
        used = recorder.code_used()
        write_json(
            request.code_path,
            {
                "code": used.model_dump() if isinstance(used, CodeUsed) else None,
                "problem": used if isinstance(used, str) else "",
            },
        )


if __name__ == "__main__":
    serve(generate)

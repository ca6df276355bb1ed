"""`python -m workbench.artifacts REQUEST.json`: generates training artifacts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from workbench.artifacts.generation.build import build
from workbench.artifacts.request import ArtifactsRequest
from workbench.child_process.child import serve
from workbench.export_cache.cache import ExportCache
from workbench.export_cache.code_used import CodeRecorder, CodeUsed
from workbench.export_cache.export_context import ExportContext
from workbench.export_cache.key import export_key
from workbench.files.json_file import write_json
from workbench.modules.drawn_numbers import initial_seed


def generate(report: Callable[[str], None]) -> None:
    """Build the artifacts of the request.

    Raises:
        WorkbenchError: the model or the settings cannot be used.
        OSError: they cannot be written.
    """
    request = ArtifactsRequest.read(Path(sys.argv[1]))
    cache = None if request.process is None else ExportCache.of_user(report)
    cached = () if cache is None else (cache.folder,)
    ignored = (request.model, request.directory.parent, *cached)
    recorder = CodeRecorder(ignored) if request.record_code else None
    context = None
    if cache is not None and request.process is not None:
        key = export_key(request.process, {})
        context = ExportContext(cache, key, CodeUsed)
        if recorder is not None:
            context = context._replace(code=recorder.code_used, seed=initial_seed())
    build(request, report, context)
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

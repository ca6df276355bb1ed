"""Reads artifacts from the export cache, or generates and stores them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from workbench.artifacts.artifacts import Artifacts
from workbench.artifacts.request import ArtifactsRequest
from workbench.child_process.child import run_child
from workbench.errors import ArtifactsError
from workbench.export_cache.code_used import CodeUsed
from workbench.export_cache.key import export_key
from workbench.models.cached_model import CachedModel, cached_model

Report = Callable[[str], None]


def fill(request: ArtifactsRequest, report: Report, environment: Mapping[str, str]) -> float | None:
    """Fill the request's directory, which is empty, in a child process or from the cache.

    Args:
        request: its directory is in a folder without other content.
        report: called with short progress texts.
        environment: of the child.

    Returns:
        Seconds to read it from the cache; None if it was generated.

    Raises:
        WorkbenchError: the error of the child process.
    """
    started = time.perf_counter()
    found = cached_model(request.model, request.losses, environment, report)
    if found is None:
        _generate(request, report, environment)
        return None
    cache, key = found.cache, export_key(found.process, request.settings())
    with cache.locked(key):
        if cache.take(key, request.directory, _is_complete):
            seconds = time.perf_counter() - started
            report("using the exported graph of the cache")
            return seconds
        made = request._replace(record_code=found.uses_code, process=found.process)
        _generate(made, report, environment)
        _store(found, key, request)
    return None


def _is_complete(directory: Path) -> bool:
    try:
        Artifacts.load(directory)
    except ArtifactsError:
        return False
    return True


def _generate(request: ArtifactsRequest, report: Report, environment: Mapping[str, str]) -> None:
    path = request.directory.with_name("request.json")
    request.write(path)
    run_child(
        "workbench.artifacts",
        path,
        report,
        environment,
        work="generates artifacts",
        failure=ArtifactsError,
    )


def _store(found: CachedModel, key: str, request: ArtifactsRequest) -> None:
    code = CodeUsed()
    if found.uses_code:
        said = json.loads(request.code_path.read_text(encoding="utf-8"))
        if said["problem"]:
            found.cache.report(f"The export is not cached. {said['problem']}")
            return
        code = CodeUsed.model_validate(said["code"])
    found.cache.store(key, request.directory, code)

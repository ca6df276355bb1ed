"""Reads artifacts from the export cache, or generates and stores them."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from workbench.artifacts.artifacts import Artifacts
from workbench.artifacts.request import ArtifactsRequest
from workbench.child_process.child import run_child
from workbench.errors import ArtifactsError
from workbench.export_cache.cache import ExportCache
from workbench.export_cache.code_used import CodeUsed
from workbench.export_cache.key import export_key
from workbench.files.json_file import read_json
from workbench.models.sources.factory import FactorySource
from workbench.models.sources.memory import MemorySource

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

    def tell(sentence: str) -> None:
        report(sentence)
        with contextlib.suppress(OSError):  # the log may be on a disk that is full
            print(sentence, file=sys.stderr)

    cache = ExportCache.of_user(tell)
    if cache is None:
        _generate(request, report, environment)
        return None
    started = time.perf_counter()
    try:
        kind = read_json(request.model / "model.json").get("kind")
        cached = kind != FactorySource.kind
        key = export_key(request.model, request.settings(), environment) if cached else ""
    except OSError as error:
        tell(f"The export is not cached: {error.filename} cannot be read.")
        _generate(request, report, environment)
        return None
    if not cached:
        report("a factory may read anything, so its model's export is not cached")
        _generate(request, report, environment)
        return None
    uses_code = kind == MemorySource.kind or any(loss.custom for loss in request.losses)
    with cache.locked(key):
        if cache.take(key, request.directory, _is_complete):
            seconds = time.perf_counter() - started
            report(f"export: from the cache, {seconds:.2f} s")
            return seconds
        _generate(request._replace(record_code=uses_code), report, environment)
        _store(cache, key, request, uses_code, tell)
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


def _store(
    cache: ExportCache, key: str, request: ArtifactsRequest, uses_code: bool, tell: Report
) -> None:
    code = CodeUsed()
    if uses_code:
        said = json.loads(request.code_path.read_text(encoding="utf-8"))
        if said["problem"]:
            tell(f"The export is not cached. {said['problem']}")
            return
        code = CodeUsed.model_validate(said["code"])
    cache.store(key, request.directory, code)

"""What the exports of a saved model depend on besides its settings, for the export cache."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import RunFolderError
from workbench.export_cache.cache import ExportCache
from workbench.export_cache.code_used import CodeRecorder, CodeUsed
from workbench.export_cache.export_context import ExportContext
from workbench.export_cache.key import export_key, process_key
from workbench.files.json_file import read_json
from workbench.losses.loss import Loss
from workbench.models.sources.factory import FactorySource
from workbench.models.sources.memory import MemorySource
from workbench.user_code.user_code import UserCode


class CachedModel(NamedTuple):
    """A saved model whose exports are cached."""

    cache: ExportCache
    process: str
    """See `process_key`."""
    uses_code: bool
    """Whether its exports run code of the user's, which is recorded with them."""

    def export_context(
        self, settings: Mapping[str, Any], ignored: Sequence[Path], seed: int | None
    ) -> ExportContext:
        """What determines the exports of this process, which has loaded none of the model's code
        yet.

        Args:
            settings: that the module and its forward pass depend on, as JSON.
            ignored: folders whose files are not code of the user's.
            seed: of PyTorch's random numbers when the model is loaded.
        """
        key = export_key(self.process, settings)
        if not self.uses_code:
            return ExportContext(self.cache, key, CodeUsed)
        recorder = CodeRecorder((*ignored, self.cache.folder))
        return ExportContext(self.cache, key, recorder.code_used, seed)


def cached_model(
    folder: Path,
    losses: Sequence[Loss],
    environment: Mapping[str, str],
    report: Callable[[str], None],
) -> CachedModel | None:
    """The model that `Model.save` wrote into `folder`, with the cache of its exports.

    Args:
        folder: the saved model.
        losses: that it is trained with.
        environment: environment variables of the process that exports it.
        report: called with a sentence about the cache.

    Returns:
        None if the cache is turned off or cannot be used, or for a model of a factory, which may
        read anything.
    """

    def warn(sentence: str) -> None:
        report(sentence)
        with contextlib.suppress(OSError):  # the log may be on a disk that is full
            print(sentence, file=sys.stderr)

    cache = ExportCache.of_user(warn)
    if cache is None:
        return None
    try:
        kind = read_json(folder / "model.json").get("kind")
        if kind == FactorySource.kind:
            report("a factory may read anything, so its model's export is not cached")
            return None
        process = process_key(folder, environment)
    except OSError as error:
        warn(f"The export is not cached: {error.filename} cannot be read.")
        return None
    except RunFolderError as error:
        warn(f"The export is not cached: {error}")
        return None
    uses_code = kind == MemorySource.kind or any(loss.custom for loss in losses)
    return CachedModel(cache, process, uses_code)


def exporting_environment(code: UserCode, threads: int) -> dict[str, str]:
    """The environment variables of a process that exports a model: equal ones share exports.

    Args:
        code: the user code that it may execute.
        threads: of PyTorch and ONNX Runtime.
    """
    return {**code.environment(), "OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"}

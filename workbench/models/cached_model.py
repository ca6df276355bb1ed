"""What the exports of a saved model depend on besides its settings, for the export cache."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from workbench.errors import RunFolderError
from workbench.export_cache.cache import ExportCache
from workbench.export_cache.key import process_key
from workbench.files.json_file import read_json
from workbench.losses.loss import Loss
from workbench.models.sources.factory import FactorySource
from workbench.models.sources.memory import MemorySource


class CachedModel(NamedTuple):
    """A saved model whose exports are cached."""

    cache: ExportCache
    process: str
    """See `process_key`."""
    uses_code: bool
    """Whether its exports run code of the user's, which is recorded with them."""


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

"""Removes the cached exports of this user."""

from __future__ import annotations

import warnings

from workbench.export_cache.cache import ExportCache, Report


def clear_cache(report: Report = warnings.warn) -> int:
    """Remove the exports that earlier runs left in the cache; they are made again when needed.

    Args:
        report: called with a sentence on why the cache cannot be used.

    Returns:
        How many bytes they took; 0 where nothing is cached.
    """
    cache = ExportCache.of_user(report)
    return 0 if cache is None else cache.clear()

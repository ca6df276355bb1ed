"""Less frequent garbage collection while many objects are created and few are freed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (50_000, 20, 100)
"""See `gc.set_threshold`. With the default a quarter of the time that torch takes to be imported
and to export a small module is spent on checking objects that are all still used."""


@contextmanager
def infrequent_garbage_collection() -> Iterator[None]:
    """Collect garbage less often within the block; one thread at a time enters it.

    If the caller has disabled the collection, it stays disabled.
    """
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)

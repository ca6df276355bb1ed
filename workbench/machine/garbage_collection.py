"""Less frequent garbage collection while many objects are made and few become garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (50_000, 20, 100)
"""See `gc.set_threshold`. With the default a quarter of the time that torch takes to be imported
and to export a small module goes into looking through objects that all stay."""


@contextmanager
def infrequent_garbage_collection() -> Iterator[None]:
    """Within the block Python looks for garbage less often; one thread at a time enters it.

    A caller who has turned the collection off keeps it off.
    """
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)

"""How many threads an engine may have."""

from __future__ import annotations

import os

from pydantic import ValidationInfo

RECORD = "record"
"""Context in which pydantic validates what was read from disk: nothing that it names is imported,
and it may come from a machine with more cores. What a caller gives is validated without."""


def default_threads() -> int:
    """The processors that this process may run on: what every engine's thread pool gets."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def within_cores(name: str, threads: int | None, info: ValidationInfo) -> int | None:
    """`threads`, unless they are more than there are cores.

    More threads than cores only wait for each other, and ONNX Runtime hangs where it is asked for
    more than the system can start.

    Raises:
        ValueError: says how many there may be.
    """
    most = default_threads()
    if threads is not None and threads > most and info.context != RECORD:
        cores = "1 core" if most == 1 else f"{most} cores"
        raise ValueError(f"{name}={threads}: this process may use {cores}; give {most} or less.")
    return threads

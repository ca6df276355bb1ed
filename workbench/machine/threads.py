"""The number of threads of an engine."""

from __future__ import annotations

import os

from pydantic import ValidationInfo

RECORD = "record"
"""Pydantic validation context for records read from disk: names in them are not imported, and they
may come from a machine with more cores. Arguments of a caller are validated without it."""


def default_threads() -> int:
    """The number of cores that this process may use: the default number of threads."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def within_cores(name: str, threads: int | None, info: ValidationInfo) -> int | None:
    """Check that `threads` is at most the number of cores, and return it.

    More threads than cores only slow each other down, and ONNX Runtime hangs if the system cannot
    start as many as requested.

    Raises:
        ValueError: there are fewer cores; names their number.
    """
    most = default_threads()
    if threads is not None and threads > most and info.context != RECORD:
        cores = "1 core" if most == 1 else f"{most} cores"
        raise ValueError(f"{name}={threads}: this process may use {cores}; give {most} or less.")
    return threads

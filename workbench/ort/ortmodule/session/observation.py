"""Observes a session: its optimized graph, and its profile."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.files.temporary_folder import temporary_folder
from workbench.ort.graph.profiles import Event, profile_if_requested


class SessionObservation:
    """Data about a session, available after it is loaded."""

    def __init__(self) -> None:
        self.load_s = 0.0
        """Seconds to load the serialized graph into a session."""
        self.optimized = b""
        """The graph that ONNX Runtime runs, serialized: after its optimization."""


@contextmanager
def observed(options: Any) -> Iterator[SessionObservation]:
    """Context to load a session with `options`; its data is available afterwards.

    Writing the optimized graph adds a tenth to the time of loading, and nothing to a step.

    Args:
        options: native SessionOptions; a path set for the optimized graph is kept.
    """
    observation = SessionObservation()
    profile_if_requested(options, "ortmodule")
    with temporary_folder() as folder:
        named = options.optimized_model_filepath
        path = Path(named or folder / "optimized.onnx")
        options.optimized_model_filepath = str(path)
        started = time.perf_counter()
        yield observation
        observation.load_s = time.perf_counter() - started
        observation.optimized = path.read_bytes()


def end_profile(session: Any) -> tuple[list[Event], int]:
    """End the profile of a native session, which continues without one.

    Returns:
        The events as ONNX Runtime writes them, their `ts` and `dur` in microseconds, and the time
        of `ts` 0 in nanoseconds on the clock of `time.time_ns`.
    """
    start_ns = int(session.get_profiling_start_time_ns)
    path = Path(session.end_profiling())
    events: list[Event] = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    return events, start_ns

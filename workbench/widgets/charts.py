"""Live charts of loss, throughput and memory, one line for each engine."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import anywidget
import numpy as np
import traitlets

from workbench.runs.reader import NewPoints
from workbench.widgets.bundle import bundle

EMPTY_HINT = "Choose a model and engines, then press Train or Compare."
WAITING_HINT = "The lines begin with the first step."
NOTHING_HINT = "No step was taken."


class Charts(anywidget.AnyWidget):
    """Shows the points of some runs, as they come.

    `add` takes in what a `RunReader` found and `flush` sends what came since the last flush, as
    float32, in one message. A view that (re)connects asks for everything, so a reloaded page shows
    what came before. All methods may be called from any thread.
    """

    _esm = bundle("charts.js")
    _css = bundle("charts.css")

    total_steps = traitlets.Int(0).tag(sync=True)
    """Steps that each run will take, for the axis; 0 while that is not known."""
    hint = traitlets.Unicode(EMPTY_HINT).tag(sync=True)
    """What to say while there is nothing to show."""

    def __init__(self, **kwargs: Any) -> None:
        self._lock = threading.RLock()
        self._generation = 0
        self._engines: list[str] = []
        self._sent: dict[str, list[np.ndarray]] = {}
        self._unsent: dict[str, list[np.ndarray]] = {}
        self._counts: dict[str, int] = {}
        super().__init__(**kwargs)
        self.on_msg(self._on_message)

    def reset(self, engines: Sequence[str], total_steps: int = 0) -> None:
        """Forget every point and get ready for one line for each of `engines`."""
        with self._lock:
            self._generation += 1
            self._engines = list(engines)
            self._sent = {engine: [] for engine in engines}
            self._unsent = {engine: [] for engine in engines}
            self._counts = dict.fromkeys(engines, 0)
            self.total_steps = total_steps
            self.hint = WAITING_HINT
            self._send_all()

    def add(self, engine: str, points: NewPoints) -> None:
        """Take in new points of `engine`; they are sent by the next flush."""
        if len(points.step):
            with self._lock:
                self._unsent[engine].append(columns(points))

    def flush(self) -> None:
        """Send what came since the last flush; nothing when nothing came."""
        with self._lock:
            parts, buffers = [], []
            for engine, chunks in self._unsent.items():
                if not chunks:
                    continue
                start = self._counts[engine]
                block = np.concatenate(chunks, axis=1)
                parts.append({"engine": engine, "start": start, "count": block.shape[1]})
                buffers.append(block.tobytes())
                self._sent[engine].append(block)
                self._counts[engine] += block.shape[1]
                chunks.clear()
            if parts:
                self._send_points(parts, buffers, full=False)

    def points(self, engine: str) -> np.ndarray:
        """(4, steps) float32 of what was sent: step, loss, samples per second, resident MB."""
        with self._lock:
            return np.concatenate(
                [np.empty((4, 0), np.float32), *self._sent.get(engine, ())], axis=1
            )

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        if content.get("kind") == "sync":
            with self._lock:
                self._send_all()

    def _send_all(self) -> None:
        parts, buffers = [], []
        for engine in self._engines:
            block = self.points(engine)
            parts.append({"engine": engine, "start": 0, "count": block.shape[1]})
            buffers.append(block.tobytes())
        self._send_points(parts, buffers, full=True)

    def _send_points(
        self, parts: list[dict[str, Any]], buffers: list[bytes], *, full: bool
    ) -> None:
        message = {
            "kind": "points",
            "generation": self._generation,
            "full": full,
            "engines": self._engines,
            "parts": parts,
        }
        self.send(message, buffers)


def columns(points: NewPoints) -> np.ndarray:
    """(4, steps) float32: step, loss, samples per second, resident set in MB (10^6 bytes).

    The resident set is known for the last step of each record only; the steps before it get the
    same, and those after the last record's end that of the record before.
    """
    known = np.flatnonzero(np.isfinite(points.rss_bytes))
    if len(known):
        following = np.searchsorted(known, np.arange(len(points.step)))
        rss_bytes = points.rss_bytes[known[np.minimum(following, len(known) - 1)]]
    else:
        rss_bytes = points.rss_bytes
    rate = points.samples / points.seconds
    with np.errstate(over="ignore"):  # a loss beyond float32 is drawn as infinite
        return np.stack([points.step, points.loss, rate, rss_bytes / 1e6]).astype(np.float32)

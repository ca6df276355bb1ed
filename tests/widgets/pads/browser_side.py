"""Sends a pad what its front end would, and waits until that is done."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from workbench.widgets.pads.pad import Pad

PATIENCE_S = 90


def send(pad: Pad, content: Any, *arrays: np.ndarray | bytes) -> None:
    """A message of the front end, with its binary buffers."""
    buffers = [memoryview(each if isinstance(each, bytes) else each.tobytes()) for each in arrays]
    pad._handle_custom_msg(content, buffers)  # type: ignore[no-untyped-call]
    done = threading.Event()
    # Commands are carried out in order.
    pad._commands.ask(done.set)
    assert done.wait(PATIENCE_S)


def strokes(*lines: list[tuple[float, float]]) -> tuple[dict[str, Any], np.ndarray]:
    """A drawing as it is sent: the lengths of its strokes, and its points."""
    points = np.array([point for line in lines for point in line], np.float32)
    return {"lengths": [len(line) for line in lines]}, points

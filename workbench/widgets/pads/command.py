"""Messages from the browser to a pad, validated before anything else reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.errors import DataError, value_text

MOST_BYTES = 32_000_000
"""Of one buffer; the front end sends no more either."""
MOST_POINTS = 4000
"""Of one drawing."""
LONGEST_SIDE = 512
"""Height and width of a picture, in pixels."""


class PadCommand:
    """A message of the browser. Its methods raise a DataError for what does not fit."""

    def __init__(self, content: Any, buffers: Any) -> None:
        self._content: dict[Any, Any] = content if isinstance(content, dict) else {}
        self._buffers: Sequence[Any] = buffers if isinstance(buffers, Sequence) else []

    @property
    def kind(self) -> str:
        """Its name; empty when it has none."""
        kind = self._content.get("kind")
        return kind if isinstance(kind, str) else ""

    def text(self, name: str, most: int = 4096) -> str:
        """A text of at most so many characters."""
        value = self._content.get(name)
        if not isinstance(value, str) or len(value) > most:
            raise DataError(f"{name} must be a text, not {value_text(value)}.")
        return value

    def whole(self, name: str, lowest: int, highest: int) -> int:
        """An integer from `lowest` to `highest`."""
        value = self._content.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
            raise DataError(
                f"{name} must be an integer from {lowest} to {highest}, not {value_text(value)}."
            )
        return value

    def example_id(self) -> int:
        """The id of an example."""
        return self.whole("id", 1, 2**31)

    def content(self) -> bytes:
        """The bytes of its buffer."""
        if len(self._buffers) != 1:
            raise DataError(f"One buffer must come with {self.kind}, not {len(self._buffers)}.")
        buffer = self._buffers[0]
        if not isinstance(buffer, bytes | bytearray | memoryview):
            raise DataError(f"{value_text(buffer)} came with {self.kind} in place of bytes.")
        content = bytes(buffer)
        if len(content) > MOST_BYTES:
            raise DataError(f"{len(content):,} bytes were sent; at most {MOST_BYTES:,} are taken.")
        return content

    def strokes(self) -> list[np.ndarray]:
        """The strokes of a drawing, each (points, 2), float32, x and y from 0 to 1."""
        lengths = self._content.get("lengths")
        if not isinstance(lengths, list) or not all(
            isinstance(length, int) and not isinstance(length, bool) and 0 < length <= MOST_POINTS
            for length in lengths
        ):
            raise DataError(f"The lengths of strokes cannot be {value_text(lengths)}.")
        points = self._floats()
        if len(points) != 2 * sum(lengths) or sum(lengths) > MOST_POINTS:
            raise DataError(
                f"Strokes of {sum(lengths)} points came with {len(points)} coordinates; a drawing "
                f"has two for each of its points, at most {MOST_POINTS} of which are taken."
            )
        if len(points) and not (points.min() >= 0 and points.max() <= 1):
            raise DataError("The coordinates of a drawing must be from 0 to 1.")
        return np.split(points.reshape(-1, 2), np.cumsum(lengths)[:-1]) if lengths else []

    def picture(self) -> np.ndarray:
        """A picture, (height, width), uint8, 0 black to 255 white."""
        height = self.whole("height", 1, LONGEST_SIDE)
        width = self.whole("width", 1, LONGEST_SIDE)
        content = self.content()
        if len(content) != height * width:
            raise DataError(
                f"A picture of {width} by {height} pixels has {width * height} bytes, not "
                f"{len(content)}."
            )
        return np.frombuffer(content, np.uint8).reshape(height, width)

    def sound(self) -> tuple[np.ndarray, int]:
        """A recording, (samples,), float32, and its rate in samples per second."""
        rate = self.whole("rate", 1000, 1_000_000)
        samples = self._floats()
        # A decoder may reach a little beyond full scale.
        if len(samples) and not np.abs(samples).max() <= 4:
            raise DataError("The samples of a recording must be from -1 to 1.")
        return samples, rate

    def _floats(self) -> np.ndarray:
        content = self.content()
        if len(content) % 4:
            raise DataError(f"{len(content)} bytes are not float32 numbers.")
        values = np.frombuffer(content, "<f4")
        if not math.isfinite(float(np.abs(values).sum(dtype=np.float64))):
            raise DataError("What was sent contains NaN or infinity.")
        return values

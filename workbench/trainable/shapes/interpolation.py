"""Resizing along one axis as a matrix: each row has the weights of one entry of the result."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_CUBIC_REACH = 2
"""Entries to either side that cubic interpolation reads."""


class Interpolation(NamedTuple):
    """How a Resize node interpolates, in the words of the operator."""

    mode: str
    """nearest, linear or cubic."""
    coordinates: str
    """Its coordinate_transformation_mode."""
    nearest: str
    """Its nearest_mode."""
    cubic_coeff: float
    exclude_outside: bool
    antialias: bool

    def matrix(self, size: int, resized: int, scale: float) -> np.ndarray:
        """Float32, of shape [resized, size].

        Args:
            size: of the axis before.
            resized: of the axis after.
            scale: from before to after; not always their exact ratio.

        Raises:
            ValueError: no such interpolation is known.
        """
        # In float32, as ONNX Runtime does: which entry is nearest may depend on the last digit.
        at = np.asarray(self._coordinates(size, resized, np.float32(scale)), np.float32)
        if self.mode == "nearest":
            chosen = np.clip(self._nearest(at), 0, size - 1)
            return np.asarray(np.eye(size)[chosen], np.float32)
        if self.antialias:
            return self._antialiased(at, size, scale)
        reach = _CUBIC_REACH if self.mode == "cubic" else 1
        first = np.floor(at).astype(np.int64) - reach + 1
        made = np.zeros((resized, size))
        for offset in range(2 * reach):
            read = first + offset
            weight = self._weight(np.abs(at.astype(np.float64) - read))
            if self.exclude_outside:
                weight = np.where((read >= 0) & (read < size), weight, 0)
            np.add.at(made, (np.arange(resized), np.clip(read, 0, size - 1)), weight)
        return _shares(made)

    def _coordinates(self, size: int, resized: int, scale: np.float32) -> np.ndarray:
        """Where each entry of the result lies in the axis before."""
        to = np.arange(resized, dtype=np.float32)
        half = np.float32(0.5)
        match self.coordinates:
            case "asymmetric":
                return to / scale
            case "pytorch_half_pixel" if resized == 1:
                return np.zeros(1, np.float32)
            case "half_pixel" | "pytorch_half_pixel":
                return (to + half) / scale - half
            case "half_pixel_symmetric":
                centre, shift = size / 2, 1 - resized / (float(scale) * size)
                return centre * shift + (to + half) / scale - half
            case "align_corners":
                return to * np.float32(size - 1) / np.float32(max(1, resized - 1))
            case other:
                raise ValueError(f"No coordinate_transformation_mode {other!r}.")

    def _nearest(self, at: np.ndarray) -> np.ndarray:
        match self.nearest:
            case "floor":
                found = np.floor(at)
            case "ceil":
                found = np.ceil(at)
            case "round_prefer_floor":
                found = np.ceil(at - 0.5)
            case "round_prefer_ceil":
                found = np.floor(at + 0.5)
            case other:
                raise ValueError(f"No nearest_mode {other!r}.")
        return np.asarray(found, np.int64)

    def _antialiased(self, at: np.ndarray, size: int, scale: float) -> np.ndarray:
        """Where the axis shrinks, the filter is as wide as the interval of one entry."""
        widened = max(1.0, 1 / scale)
        reach = (_CUBIC_REACH if self.mode == "cubic" else 1) * widened
        centre = at.astype(np.float64)[:, None] + 0.5
        entries = np.arange(size)[None, :]
        low = np.floor(centre - reach + 0.5)
        high = np.floor(centre + reach + 0.5)
        made = self._weight(np.abs(entries + 0.5 - centre) / widened)
        made = np.where((entries >= low) & (entries < high), made, 0)
        return _shares(made)

    def _weight(self, distance: np.ndarray) -> np.ndarray:
        if self.mode == "linear":
            return np.asarray(np.maximum(0, 1 - distance))
        if self.mode != "cubic":
            raise ValueError(f"No mode {self.mode!r}.")
        a, x = self.cubic_coeff, distance
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((x - 5) * x + 8) * x * a - 4 * a
        return np.where(x <= 1, near, np.where(x < _CUBIC_REACH, far, 0))


def _shares(weights: np.ndarray) -> np.ndarray:
    """Each row over its sum, in float32."""
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)

"""A row of a dataset as a small picture that a page can show."""

from __future__ import annotations

import base64
import io

import numpy as np

LARGEST = 128
"""Pixels of the longer side; larger pictures are scaled down, to keep messages small."""


def as_png(pixels: np.ndarray) -> str:
    """Pixels, (height, width) or (height, width, 3) uint8, as a PNG in base64."""
    from PIL import Image

    picture = Image.fromarray(pixels)
    picture.thumbnail((LARGEST, LARGEST))
    buffer = io.BytesIO()
    picture.save(buffer, format="png")
    return base64.b64encode(buffer.getvalue()).decode("ascii")

"""Varied copies of a few examples, so that a last layer trained with them is less particular."""

from __future__ import annotations

import numpy as np

from workbench.data.spectrogram import LENGTH, RATE_HZ

ROTATION = np.deg2rad(12)
"""Largest angle."""
SCALE = 0.15
"""Largest relative change of height and width, each for itself."""
SHEAR = 0.1
SHIFT = 2.0
"""Largest shift of an image, in pixels."""

SHIFT_S = 0.1
"""Largest shift of a recording."""
SPEED = 0.08
"""Largest relative change of speed, and with it of pitch."""
SNR_DB = (8.0, 30.0)
"""Range of the ratio of the recording's power to that of the noise."""

LOUD = 0.05
"""A sound sample beyond this is of the word, and not of the silence around it."""


def varied_images(images: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A copy of each image that is turned, scaled, sheared and moved a little.

    Args:
        images: (images, height, width), float32.
        random: of the changes.

    Returns:
        The same shape; what comes from outside is 0.
    """
    count, height, width = images.shape
    angle = random.uniform(-ROTATION, ROTATION, count)
    sx, sy = random.uniform(1 - SCALE, 1 + SCALE, (2, count))
    shear = random.uniform(-SHEAR, SHEAR, count)
    shift = random.uniform(-SHIFT, SHIFT, (2, count))
    cos, sin = np.cos(angle), np.sin(angle)
    rows, columns = np.mgrid[0:height, 0:width]
    y, x = rows.ravel() - (height - 1) / 2, columns.ravel() - (width - 1) / 2

    def of_image(values: np.ndarray) -> np.ndarray:
        return values[:, np.newaxis]

    # Where in the original each pixel of the copy is from.
    u = of_image(cos * sx) * x + of_image(shear - sin) * y + of_image(shift[0])
    v = of_image(sin) * x + of_image(cos * sy) * y + of_image(shift[1])
    sampled = _bilinear(images, v + (height - 1) / 2, u + (width - 1) / 2)
    return sampled.reshape(images.shape).astype(np.float32)


def _bilinear(images: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Values of the images at places between pixels: (images, places)."""
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2)))
    rows = np.clip(rows + 1, 0, images.shape[1] + 1)
    columns = np.clip(columns + 1, 0, images.shape[2] + 1)
    top, left = rows.astype(int), columns.astype(int)
    down, right = rows - top, columns - left
    image = np.arange(len(images))[:, np.newaxis]
    upper = padded[image, top, left] * (1 - right) + padded[image, top, left + 1] * right
    lower = padded[image, top + 1, left] * (1 - right) + padded[image, top + 1, left + 1] * right
    found: np.ndarray = upper * (1 - down) + lower * down
    return found


def varied_clips(clips: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A copy of each recording that is faster or slower, moved and noisier.

    The noise is white or brown, each for half of the copies.

    Args:
        clips: (clips, 8000), float32, one second each.
        random: of the changes.

    Returns:
        The same shape.
    """
    count = len(clips)
    times = np.arange(LENGTH)
    speed = random.uniform(1 - SPEED, 1 + SPEED, count)
    shift = random.uniform(-SHIFT_S, SHIFT_S, count) * RATE_HZ
    level_db = random.uniform(*SNR_DB, count)
    varied = np.empty_like(clips)
    for index, clip in enumerate(clips):
        places = (times - LENGTH / 2) * speed[index] + LENGTH / 2 + shift[index]
        moved = np.interp(places, times, clip, left=0, right=0)
        noise = random.standard_normal(LENGTH, np.float32)
        if random.random() < 0.5:
            noise = np.cumsum(noise)
            noise -= np.linspace(noise[0], noise[-1], LENGTH)
        # Of what is loud, not of the silence around it.
        loud = moved[np.abs(moved) > LOUD]
        power = float((loud**2).mean()) if loud.size else 0.0
        ratio = 10 ** (-level_db[index] / 10)
        noise *= np.sqrt(power * ratio / max(float((noise**2).mean()), 1e-12))
        varied[index] = moved + noise
    return varied

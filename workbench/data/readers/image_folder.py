"""Rows from a folder of images with one subfolder per class."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.data.rows import Rows, make_rows
from workbench.errors import DataError
from workbench.files.input_file import check_file, display_path

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff"})

GREY_MODES = frozenset({"1", "L", "LA", "La"})
"""Pillow's greyscale modes of up to 8 bits. If all images have one, there is one channel."""

DEEP_MODES = frozenset({"I;16", "I;16L", "I;16B", "I;16N"})
"""Pillow's modes of 16 bits, all greyscale."""

REFUSED_MODES = {"F": "floating-point", "I": "32-bit or signed"}
"""Pillow's modes without a known range of values."""


class DecodedImage(NamedTuple):
    """One decoded image."""

    pixels: np.ndarray
    """(height, width) or (height, width, 3), float32 from 0 to 1."""
    bits: int
    """Bits per value in the file: 16, or 8 for all others."""
    path: Path


def read_image_folder(folder: Path, image_size: tuple[int, int] | None) -> Rows:
    """Read images (rows, channels, height, width), float32 from 0 to 1, and their classes.

    Classes are the subfolders in alphabetical order. There is one channel if every image is grey,
    else three (red, green, blue); transparency is dropped. 16-bit images are divided by 65,535.

    Args:
        folder: contains one subfolder per class; other files are ignored.
        image_size: (height, width) in pixels to resize to; None: all must have the same size.

    Raises:
        DataError: there are no classes or no images, one cannot be read or has floating-point
            values, or their sizes or bit depths differ.
    """
    try:
        classes = sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] != ".")
        found = [sorted(p for p in each.iterdir() if _is_image(p)) for each in classes]
    except OSError as error:
        raise DataError(f"{display_path(folder)} cannot be read: {error}.") from None
    if not classes:
        raise DataError(
            f"{folder} has no subfolders; put the images of each class into a subfolder."
        )
    pictures: list[DecodedImage] = []
    for class_folder, paths in zip(classes, found, strict=True):
        if not paths:
            raise DataError(
                f"Class folder {class_folder} contains no images; remove it or add images."
            )
        pictures += [_read(check_file(path, DataError), image_size) for path in paths]
    _refuse_mixture(pictures)
    pixels = np.stack(_in_channels(pictures))
    labels = np.repeat(np.arange(len(classes)), [len(paths) for paths in found])
    rows = make_rows([pixels], labels)
    return rows._replace(classes=tuple(path.name for path in classes))


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.name[0] != "."


def _read(path: Path, image_size: tuple[int, int] | None) -> DecodedImage:
    from PIL import Image

    try:
        with warnings.catch_warnings(), Image.open(path) as image:
            # Pillow warns from half of the size that it rejects.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            _refuse_depth(path, image.mode)
            deep = image.mode in DEEP_MODES
            return DecodedImage(_pixels(image, image_size, deep=deep), 16 if deep else 8, path)
    except DataError:
        raise
    except Exception as error:  # Pillow's readers raise many types
        raise DataError(f"{path} is not a readable image: {error}.") from None


def _refuse_depth(path: Path, mode: str) -> None:
    if mode in REFUSED_MODES:
        raise DataError(
            f"{path} has {REFUSED_MODES[mode]} values, whose range is unknown; save it with 8 or "
            "16 bits, or pass the images as arrays."
        )


def _pixels(image: Image.Image, image_size: tuple[int, int] | None, *, deep: bool) -> np.ndarray:
    """The pixels from 0 to 1, resized."""
    from PIL import Image
    from PIL.Image import Resampling

    if deep:
        # Resized as floats: Pillow resizes 16 bits differently from 8.
        plain = Image.fromarray(np.asarray(image).astype(np.float32))
    else:
        plain = image.convert("L" if image.mode in GREY_MODES else "RGB")
    if image_size is not None:
        height, width = image_size
        plain = plain.resize((width, height), Resampling.BILINEAR)
    return np.asarray(plain, np.float32) / np.float32(65535 if deep else 255)


def _in_channels(pictures: list[DecodedImage]) -> list[np.ndarray]:
    """Each image as (channels, height, width); grey images get three channels if any has colour."""
    colour = any(picture.pixels.ndim == 3 for picture in pictures)
    made = []
    for picture in pictures:
        pixels = picture.pixels
        if pixels.ndim == 3:
            made.append(np.ascontiguousarray(pixels.transpose(2, 0, 1)))
        else:
            made.append(np.repeat(pixels[np.newaxis], 3 if colour else 1, axis=0))
    return made


def _refuse_mixture(pictures: list[DecodedImage]) -> None:
    first = pictures[0]
    for picture in pictures:
        if picture.bits != first.bits:
            raise DataError(
                f"{picture.path} has {picture.bits} bits per value but {first.path} has "
                f"{first.bits}; save all images with the same bit depth."
            )
        (height, width), (usual_height, usual_width) = (
            picture.pixels.shape[:2],
            first.pixels.shape[:2],
        )
        if (height, width) != (usual_height, usual_width):
            raise DataError(
                f"{picture.path} is {height}x{width} pixels (height x width) but {first.path} is "
                f"{usual_height}x{usual_width}; give image_size=(height, width) to resize them all."
            )

"""Rows from a folder of images, one subfolder a class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.data.rows import Rows, make_rows
from workbench.errors import DataError

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff"})

GREY_MODES = frozenset({"1", "L", "LA"})
"""Pillow's modes without colour. If every image has one of them, there is one channel."""


def read_image_folder(folder: Path, image_size: tuple[int, int] | None) -> Rows:
    """Images (rows, channels, height, width), float32 from 0 to 1, and the class of each.

    Classes are the subfolders in alphabetical order. There is one channel if every image is grey,
    else three (red, green, blue); transparency is dropped.

    Args:
        folder: holds one subfolder a class; other files in it are left alone.
        image_size: (height, width) in pixels to resize to; None: all must have one size.

    Raises:
        DataError: there are no classes or no images, one cannot be read, or their sizes differ.
    """
    from PIL import Image, UnidentifiedImageError

    classes = sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] != ".")
    if not classes:
        raise DataError(f"{folder} has no subfolders; put the images of each class into one.")
    images: list[Image.Image] = []
    paths: list[Path] = []
    labels: list[int] = []
    for label, class_folder in enumerate(classes):
        found = sorted(p for p in class_folder.iterdir() if p.suffix.lower() in SUFFIXES)
        if not found:
            raise DataError(f"Class folder {class_folder} holds no images; remove it or fill it.")
        for path in found:
            try:
                with Image.open(path) as image:
                    images.append(_loaded(image, image_size))
            except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
                raise DataError(f"{path} is not a readable image: {error}.") from None
            paths.append(path)
            labels.append(label)
    _refuse_other_sizes(images, paths)
    mode = "L" if all(image.mode == "L" for image in images) else "RGB"
    pixels = np.stack([np.asarray(image.convert(mode), np.float32) for image in images]) / 255
    pixels = pixels[:, np.newaxis] if mode == "L" else pixels.transpose(0, 3, 1, 2)
    rows = make_rows([np.ascontiguousarray(pixels)], np.array(labels))
    return rows._replace(classes=tuple(path.name for path in classes))


def _loaded(image: Image.Image, image_size: tuple[int, int] | None) -> Image.Image:
    """The image in memory, grey ("L") or in colour ("RGB"), in the size asked for."""
    from PIL.Image import Resampling

    plain = image.convert("L" if image.mode in GREY_MODES else "RGB")
    if image_size is None:
        return plain
    height, width = image_size
    return plain.resize((width, height), Resampling.BILINEAR)


def _refuse_other_sizes(images: list[Image.Image], paths: list[Path]) -> None:
    for image, path in zip(images, paths, strict=True):
        if image.size != images[0].size:
            raise DataError(
                f"{path} is {image.height}x{image.width} pixels (height x width) but {paths[0]} "
                f"is {images[0].height}x{images[0].width}; give image_size=(height, width) to "
                "resize them all."
            )

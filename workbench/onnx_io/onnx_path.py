"""The path of an .onnx file to write, as a caller passes it."""

from __future__ import annotations

from pathlib import Path

from workbench.errors import ModelError
from workbench.files.input_file import display_path
from workbench.files.output_file import check_place, output_path


def onnx_path(path: object, *, or_suffix: str | None = None) -> Path:
    """`path`, which must end in ".onnx", and must be possible to write.

    Args:
        path: as a caller passes it.
        or_suffix: another suffix that is allowed.

    Raises:
        ModelError: it is not a path, has another suffix, or cannot be written.
    """
    place = output_path(path, ModelError)
    check_place(place, ModelError)
    if place.suffix.lower() == ".onnx" or (or_suffix is not None and place.suffix == or_suffix):
        return place
    suffixes = ".onnx" if or_suffix is None else f".onnx, or {or_suffix} for adapters alone"
    raise ModelError(
        f"{display_path(place)} is not the name of an ONNX file: give one in {suffixes}."
    )

"""Figures of the option `--plot`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.files.output_file import check_place, replacing_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf", "jpg", "jpeg", "webp", "tif", "tiff", "eps", "ps")


def check_plot(path: str | None) -> None:
    """Check, before the work starts, that the figure can be written.

    Raises:
        WorkbenchError: the file cannot be written, or the format is not supported.
    """
    if path is None:
        return
    check_place(Path(path), WorkbenchError)
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix and suffix not in FORMATS:
        raise WorkbenchError(
            f"--plot {path}: the format .{suffix} is not supported. Use one of "
            f"{', '.join(FORMATS)}."
        )


def save_figure(figure: Figure, path: str) -> None:
    """Write a figure in the format of its suffix, default .png.

    Raises:
        WorkbenchError: it cannot be written.
    """
    place = Path(path) if Path(path).suffix else Path(f"{path}.png")
    with replacing_file(place, WorkbenchError) as temporary:
        figure.savefig(temporary, bbox_inches="tight")

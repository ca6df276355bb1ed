"""The figure that `--plot` asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.files.output_file import check_place, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf", "jpg", "jpeg", "webp", "tif", "tiff", "eps", "ps")


def check_plot(path: str | None) -> None:
    """Refuse, before the work begins, a figure that could not be written when it has ended.

    Raises:
        WorkbenchError: no such file can be written, or figures have no such format.
    """
    if path is None:
        return
    check_place(Path(path), WorkbenchError)
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix and suffix not in FORMATS:
        raise WorkbenchError(
            f"--plot {path}: a figure cannot be written as .{suffix}. Choose one of "
            f"{', '.join(FORMATS)}."
        )


def save_figure(figure: Figure, path: str) -> None:
    """Write a figure in the format of its name, .png where it has none.

    Raises:
        WorkbenchError: it cannot be written.
    """
    place = Path(path) if Path(path).suffix else Path(f"{path}.png")
    with written(place, WorkbenchError) as temporary:
        figure.savefig(temporary, bbox_inches="tight")

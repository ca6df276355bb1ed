"""The built front end of the widgets, as text that anywidget sends to the browser."""

from __future__ import annotations

from pathlib import Path

from workbench.errors import WorkbenchError

STATIC = Path(__file__).parent / "static"


def bundle(name: str) -> str:
    """The content of one bundle, such as "charts.js".

    Raises:
        WorkbenchError: the front end was not built with this installation.
    """
    path = STATIC / name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise WorkbenchError(
            f"The front end of the widgets is not built: {path} is missing. Install the package "
            "again (pip install -e .), or run `python extensions/widgets/build.py` in its sources."
        ) from None

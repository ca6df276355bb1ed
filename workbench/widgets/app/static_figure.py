"""Keeps the picture of the last result in the notebook, for readers without a kernel."""

from __future__ import annotations

import base64
import io
import uuid
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from workbench.widgets.bundle import bundle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARK = "workbench_figure"
"""Key of an output's metadata under which the front end knows the figure again."""
DPI = 110


class StaticFigure(anywidget.AnyWidget):
    """An output of its own beneath the page, and what the front end needs to fill it.

    The kernel updates that output by its display id. JupyterLab forgets display ids when its page
    is reloaded; then the front end of this widget, itself invisible, puts the picture there.
    """

    _esm = bundle("static_figure.js")

    page_id = traitlets.Unicode().tag(sync=True)
    """Id of the widget model whose output the figure follows."""
    figure_id = traitlets.Unicode().tag(sync=True)
    """Of the run or comparison shown; empty while there is none."""
    png = traitlets.Unicode().tag(sync=True)
    """The picture, base64."""
    text = traitlets.Unicode().tag(sync=True)
    """What the picture shows, in a sentence."""
    active = traitlets.Bool(False).tag(sync=True)
    """Whether something runs: when that begins, the front end saves the notebook, if it may."""
    saves = traitlets.Bool(False).tag(sync=True)
    """Whether the notebook is saved when work begins and when it has ended."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._display_id = uuid.uuid4().hex

    def display(self) -> None:
        """Put the output into the current cell: empty, or the last picture."""
        from IPython.display import display

        display(  # type: ignore[no-untyped-call]
            self._data(), metadata=self._metadata(), raw=True, display_id=self._display_id
        )

    def show(self, figure: Figure, figure_id: str, text: str) -> None:
        """Replace the picture; callable from any thread."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI)
        with self.hold_sync():
            self.png = base64.b64encode(buffer.getvalue()).decode("ascii")
            self.text = text
            self.figure_id = figure_id
        from IPython.core.getipython import get_ipython
        from IPython.display import update_display

        if get_ipython() is not None:
            update_display(  # type: ignore[no-untyped-call]
                self._data(), metadata=self._metadata(), raw=True, display_id=self._display_id
            )

    def _data(self) -> dict[str, str]:
        if not self.figure_id:
            return {"text/html": "", "text/plain": ""}
        return {"image/png": self.png, "text/plain": self.text}

    def _metadata(self) -> dict[str, str]:
        return {MARK: self.figure_id}

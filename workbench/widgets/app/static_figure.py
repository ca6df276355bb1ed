"""Saves the last result in the notebook, as a picture and a table, for viewing without a kernel."""

from __future__ import annotations

import io
import uuid
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from workbench.controller.recorded_runs.result_table import ResultTable
from workbench.figures.picture_data import picture_data
from workbench.widgets.bundle import bundle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARK = "workbench_figure"
"""Key of an output's metadata by which the front end finds it."""
PARTS = ("picture", "table")
"""One output each, so that the table is left where a viewer shows no pictures in HTML."""
HEADING = "<p><strong>Last saved result</strong></p>"
"""Below a page whose kernel is gone it could be taken for that of the run in progress."""
DPI = 110
EMPTY = {"text/html": "", "text/plain": ""}


class StaticFigure(anywidget.AnyWidget):
    """Separate outputs below the page, and the data with which the front end fills them.

    The kernel updates those outputs by their display ids. JupyterLab forgets display ids when its
    page is reloaded; then the front end of this widget, which is invisible, fills them. It also
    sets what the notebook shows in place of the page without a kernel.
    """

    _esm = bundle("static_figure.js")

    page_id = traitlets.Unicode().tag(sync=True)
    """Id of the widget model whose output the figure follows."""
    figure_id = traitlets.Unicode().tag(sync=True)
    """Id of the run or comparison shown; empty while there is none."""
    outputs = traitlets.List(traitlets.Dict()).tag(sync=True)
    """`data` and `metadata` of each of the outputs, in the order of `PARTS`."""
    active = traitlets.Bool(False).tag(sync=True)
    """Whether a job runs: when it starts, the front end saves the notebook, if allowed."""
    saves = traitlets.Bool(False).tag(sync=True)
    """Whether the notebook is saved when work begins and when it has ended."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._display_ids = [uuid.uuid4().hex for _ in PARTS]
        self.outputs = [{"data": EMPTY, "metadata": {MARK: ""}} for _ in PARTS]

    def display(self) -> None:
        """Display the outputs in the current cell: empty, or the last result."""
        from IPython.display import display

        for output, display_id in zip(self.outputs, self._display_ids, strict=True):
            data, metadata = output["data"], output["metadata"]
            display(data, metadata=metadata, raw=True, display_id=display_id)  # type: ignore[no-untyped-call]

    def show(self, figure: Figure, figure_id: str, table: ResultTable) -> None:
        """Replace the picture and the table; callable from any thread."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI)
        data = picture_data(buffer.getvalue(), table.title, css_class="wb-static-picture")
        data["text/html"] = HEADING + data["text/html"]
        mark = {MARK: figure_id}
        with self.hold_sync():
            self.outputs = [
                {
                    "data": data,
                    "metadata": {**mark, "image/png": {"alt": table.title}},
                },
                {"data": {"text/html": table.html(), "text/plain": table.text()}, "metadata": mark},
            ]
            self.figure_id = figure_id
        from IPython.core.getipython import get_ipython
        from IPython.display import update_display

        if get_ipython() is None:
            return
        for output, display_id in zip(self.outputs, self._display_ids, strict=True):
            data, metadata = output["data"], output["metadata"]
            update_display(data, metadata=metadata, raw=True, display_id=display_id)  # type: ignore[no-untyped-call]

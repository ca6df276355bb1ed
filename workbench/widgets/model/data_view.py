"""Preview of the chosen dataset."""

from __future__ import annotations

import anywidget
import traitlets

from workbench.controller.model.data_preview import DataPreview
from workbench.widgets.bundle import bundle
from workbench.widgets.row_picture import as_png


class DataView(anywidget.AnyWidget):
    """Some rows as pictures, text or a table, numbers of rows of each class, and ranges."""

    _esm = bundle("data_view.js")
    _css = bundle("data_view.css")

    hint = traitlets.Unicode().tag(sync=True)
    """Text while there are no rows."""
    problem = traitlets.Unicode().tag(sync=True)
    """Why the dataset cannot be loaded, or the model not be trained on it; may be empty."""
    title = traitlets.Unicode().tag(sync=True)
    facts = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    """Pairs of a label and a text."""
    counts = traitlets.List(
        traitlets.Dict(per_key_traits={"name": traitlets.Unicode(), "rows": traitlets.Int()})
    ).tag(sync=True)
    """One dict a class, with its training rows."""
    pictures = traitlets.List(
        traitlets.Dict(per_key_traits={"png": traitlets.Unicode(), "label": traitlets.Unicode()})
    ).tag(sync=True)
    """One dict a row: `png`, base64, and the name of its class."""
    texts = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "text": traitlets.Unicode(),
                "label": traitlets.Unicode(),
                "target": traitlets.Unicode(),
            }
        )
    ).tag(sync=True)
    """One dict a row, see `workbench.controller.model.data_preview.Text`."""
    columns = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rows = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    ranges = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Range of each column of the table; empty without one."""

    def clear(self, hint: str, problem: str = "") -> None:
        with self.hold_sync():
            self.title = ""
            self.facts, self.counts, self.pictures, self.texts = [], [], [], []
            self.columns, self.rows, self.ranges = [], [], []
            self.hint, self.problem = hint, problem

    def show(self, preview: DataPreview, problem: str = "") -> None:
        with self.hold_sync():
            self.problem = problem
            self.title = preview.name
            self.facts = [list(fact) for fact in preview.facts]
            self.counts = [{"name": name, "rows": rows} for name, rows in preview.counts]
            self.pictures = [
                {"png": as_png(picture.pixels), "label": picture.label}
                for picture in preview.pictures
            ]
            self.texts = [text._asdict() for text in preview.texts]
            self.ranges = list(preview.ranges)
            self.columns = list(preview.columns)
            self.rows = [list(row) for row in preview.rows]

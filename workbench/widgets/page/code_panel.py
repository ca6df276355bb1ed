"""The Python code equivalent to the page."""

from __future__ import annotations

import anywidget
import traitlets

from workbench.widgets.bundle import bundle


class CodePanel(anywidget.AnyWidget):
    """Code to read, to copy and, in JupyterLab, to insert as a cell below."""

    _esm = bundle("code_panel.js")
    _css = bundle("code_panel.css")

    code = traitlets.Dict().tag(sync=True)
    """Python source by name of the step."""
    step = traitlets.Unicode().tag(sync=True)
    """Name of the step whose code is shown, under a heading that unfolds it; empty: that of the
    app, whose bar has a button for it."""
    page_id = traitlets.Unicode().tag(sync=True)
    """Id of the widget model below whose cell a new one is inserted."""

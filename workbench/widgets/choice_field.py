"""A field in which one of several names is chosen, or anything else is typed."""

from __future__ import annotations

import anywidget
import traitlets

from workbench.widgets.bundle import bundle


class ChoiceField(anywidget.AnyWidget):
    """An editable combobox that lists every option with a line on what it is.

    An ipywidgets Combobox lists only what begins with the text in it, so that a person with a mouse
    would have to empty it first.
    """

    _esm = bundle("choice_field.js")
    _css = bundle("choice_field.css")

    label = traitlets.Unicode().tag(sync=True)
    """Its name, as shown above it."""
    list_label = traitlets.Unicode("Options").tag(sync=True)
    """Name of the list of options."""
    placeholder = traitlets.Unicode().tag(sync=True)
    options = traitlets.List(traitlets.Dict()).tag(sync=True)
    """What is offered: `value`, and `detail`, a line on what it is."""
    value = traitlets.Unicode().tag(sync=True)
    """What was chosen or typed; empty at first."""
    disabled = traitlets.Bool(False).tag(sync=True)

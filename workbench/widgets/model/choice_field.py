"""A field to choose one of several names, or to type another value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import traitlets

from workbench.widgets.bundle import bundle


class ChoiceField(anywidget.AnyWidget):
    """An editable combobox that lists every option with a description.

    An ipywidgets Combobox lists only options that begin with its text, so a mouse user would have
    to clear it first.
    """

    _esm = bundle("choice_field.js")
    _css = bundle("choice_field.css")

    label = traitlets.Unicode().tag(sync=True)
    """Its label, shown above it."""
    list_label = traitlets.Unicode("Options").tag(sync=True)
    """Name of the list of options."""
    placeholder = traitlets.Unicode().tag(sync=True)
    description = traitlets.Unicode().tag(sync=True)
    """A line under the field; may be empty."""
    problem = traitlets.Unicode().tag(sync=True)
    """Why its value is refused; empty where it is not."""
    options = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "value": traitlets.Unicode(),
                "detail": traitlets.Unicode(),
                "group": traitlets.Unicode(),
            }
        )
    ).tag(sync=True)
    """Offered values: `value`, `detail`, a line that describes it, and the heading of its group."""
    value = traitlets.Unicode().tag(sync=True)
    """The chosen or typed value; empty at first."""
    disabled = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        offered: Callable[[str], Sequence[dict[str, str]]] | None = None,
        **kwargs: Any,
    ) -> None:
        """Create the field.

        Args:
            offered: returns the options for the current text, when the list opens and while typing;
                None: fixed options.
        """
        super().__init__(**kwargs)
        self.on_again: Callable[[], None] = lambda: None
        """Called when a refused value is chosen once more: what it names may be right by now."""
        self._offered = offered
        self.on_msg(self._on_message)
        self.look("")

    def look(self, text: str) -> None:
        """Update the options for `text`."""
        if self._offered is not None:
            self.options = list(self._offered(text))

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        match content:
            case {"kind": "look", "text": str(text)}:
                self.look(text)
            case {"kind": "again"}:
                self.on_again()

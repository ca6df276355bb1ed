"""The details of the open recorded run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from workbench.controller.recorded_runs.run_detail import RunDescription
from workbench.widgets.bundle import bundle


class RunDetail(anywidget.AnyWidget):
    """Facts, settings and failure; invisible while nothing is open."""

    _esm = bundle("run_detail.js")
    _css = bundle("run_detail.css")

    run_id = traitlets.Unicode().tag(sync=True)
    """Id of the open run."""
    restorable = traitlets.Bool(False).tag(sync=True)
    """Whether there is a button to restore the settings of the run."""
    heading = traitlets.Unicode().tag(sync=True)
    """Title of the run; empty: none is open."""
    opened = traitlets.Int(0).tag(sync=True)
    """How often a run was opened: a page scrolls to it, also if it was open."""
    facts = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    """Pairs of a name and a value."""
    settings = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    """Pairs of a setting that differs from its default and its value."""
    problem = traitlets.Unicode().tag(sync=True)
    """Why the run failed or was interrupted; may be empty."""
    traceback = traitlets.Unicode().tag(sync=True)

    def __init__(self, restore: Callable[[str], None] | None = None, **kwargs: Any) -> None:
        """Create without a run.

        Args:
            restore: called with the id of the open run when its button is pressed; None: no button.
        """
        super().__init__(restorable=restore is not None, **kwargs)
        self._restore = restore
        self.on_msg(self._on_message)

    def show(self, detail: RunDescription) -> None:
        """Show a run; callable from any thread."""
        values: dict[str, Any] = {
            "run_id": detail.run_id,
            "facts": [list(fact) for fact in detail.facts],
            "settings": [list(setting) for setting in detail.settings],
            "problem": detail.problem,
            "traceback": detail.traceback,
            "heading": detail.heading,
            "opened": self.opened + 1,
        }
        with self.hold_sync():
            for name, value in values.items():
                setattr(self, name, value)

    def close_detail(self) -> None:
        """Show nothing."""
        self.heading = ""

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        if content.get("kind") == "restore" and self._restore is not None and self.run_id:
            self._restore(self.run_id)

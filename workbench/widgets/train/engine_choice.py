"""Which engines to train with, and why some cannot run here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from workbench.compare import DEFAULT_ENGINES
from workbench.controller.engine_rows import EngineRows
from workbench.settings.engines import engine_info, offered_engines
from workbench.widgets.bundle import bundle
from workbench.widgets.engine_styles import HasEngineStyles

CHECKING = "checking whether it can run here …"


def offered_names(engines: Sequence[str] | None) -> list[str]:
    """The names given, or those of all engines that are not for tests.

    Raises:
        EngineError: there is no engine of such a name.
    """
    return [*offered_engines()] if engines is None else [engine_info(each).name for each in engines]


class EngineChoice(HasEngineStyles, anywidget.AnyWidget):
    """A check box for each engine. An engine that cannot run here says why and cannot be chosen."""

    _esm = bundle("engine_choice.js")
    _css = bundle("engine_choice.css")

    label = traitlets.Unicode("Engines").tag(sync=True)
    rows = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "name": traitlets.Unicode(),
                "description": traitlets.Unicode(),
                "ok": traitlets.Bool(),
                "reason": traitlets.Unicode(),
                "remedy": traitlets.Unicode(),
            }
        )
    ).tag(sync=True)
    """One dict an engine."""
    value = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Names of the chosen engines, in the order of the rows."""
    disabled = traitlets.Bool(False).tag(sync=True)

    def __init__(self, offered: Sequence[str] | None = None, **kwargs: Any) -> None:
        """Offer the engines named; None: all that are not for tests.

        Raises:
            EngineError: there is no engine of such a name.
        """
        offered = offered_names(offered)
        rows = [
            {"name": name, "description": CHECKING, "ok": True, "reason": "", "remedy": ""}
            for name in offered
        ]
        chosen = [name for name in offered if name in DEFAULT_ENGINES] or list(offered)
        super().__init__(rows=rows, value=chosen, **kwargs)

    def show(self, rows: EngineRows) -> None:
        """Show which engines can run here; one that cannot is not chosen any more."""
        known = {row["name"]: row for row in rows}
        self.rows = [known[row["name"]] for row in self.rows]
        self.value = [name for name in self.value if known[name]["ok"]]

"""The choice of engines to train with, and why some cannot run here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from workbench.compare.compare import DEFAULT_ENGINES
from workbench.controller.engine_rows import EngineRows
from workbench.models import Model
from workbench.settings.engines import engine_info, offered_engines
from workbench.widgets.bundle import bundle
from workbench.widgets.engine_styles import HasEngineStyles

CHECKING = "checking whether it can run here …"


def offered_names(engines: Sequence[str] | None) -> list[str]:
    """The given names, or those of all engines that are not for tests.

    Raises:
        EngineError: there is no engine of such a name.
    """
    return [*offered_engines()] if engines is None else [engine_info(each).name for each in engines]


def _unchecked(name: str) -> dict[str, Any]:
    return {"name": name, "description": CHECKING, "ok": True, "reason": "", "remedy": ""}


class EngineChoice(HasEngineStyles, anywidget.AnyWidget):
    """A check box for each engine. One that cannot run here, or cannot train the chosen model, is
    disabled and shows why."""

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
        rows = [_unchecked(name) for name in offered]
        chosen = [name for name in offered if name in DEFAULT_ENGINES] or list(offered)
        super().__init__(rows=rows, value=chosen, **kwargs)
        self._here: dict[str, dict[str, Any]] = {str(row["name"]): row for row in rows}
        """Availability on this machine, by name of the engine."""
        self._known: dict[str, dict[str, Any]] = {}
        """The same, also of engines that are not offered; empty until it is known."""
        self._without_module = ""
        """Name of the chosen model if it has no `nn.Module`."""
        self._wanted = chosen
        """Engines that a user chose, including those that cannot train the current model."""
        self._applying = False
        self.observe(self._on_value, "value")
        self.on_msg(self._on_message)

    def show(self, rows: EngineRows) -> None:
        """Show which engines can run here; others are deselected."""
        self._known = {row["name"]: row for row in rows}
        self._here = {name: self._known[name] for name in self._here}
        self._wanted = [name for name in self._wanted if self._known[name]["ok"]]
        self._apply()

    @property
    def wanted(self) -> list[str]:
        """Those that a user chose, including those that cannot train the current model."""
        return list(self._wanted)

    def choose(self, *names: str) -> None:
        """Choose these engines alone, also one that was not offered, as that of a recorded run."""
        for name in names:
            if name not in self._here:
                self._here[name] = self._known.get(name, _unchecked(name))
        self._wanted = list(names)
        self._apply()

    def update_for(self, model: Model | None) -> None:
        """Enable only engines that can train `model`; None: every one.

        Deselected engines are selected again for the next model that they can train.
        """
        self._without_module = "" if model is None or model.has_module else model.name
        self._apply()

    def _apply(self) -> None:
        rows = [self._row(row) for row in self._here.values()]
        able = {row["name"] for row in rows if row["ok"]}
        self._applying = True
        try:
            with self.hold_sync():
                self.rows = rows
                self.value = [name for name in self._here if name in able & set(self._wanted)]
        finally:
            self._applying = False

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        if not row["ok"]:
            return {**row, "reason": f"Cannot run here: {row['reason']}"}
        if self._without_module and engine_info(row["name"]).needs_module:
            why = f"Cannot train {self._without_module}: an ONNX file has no nn.Module."
            return {**row, "ok": False, "reason": why, "remedy": ""}
        return row

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        match content:
            case {"kind": "choose", "name": str(name), "chosen": bool(chosen)}:
                able = [row["name"] for row in self.rows if row["ok"]]
                wanted = {*self.value, name} if chosen else {*self.value} - {name}
                self.value = [each for each in able if each in wanted]

    def _on_value(self, change: Any) -> None:
        if self._applying:
            return
        able = {row["name"] for row in self.rows if row["ok"]}
        kept = set(change.new) | (set(self._wanted) - able)
        self._wanted = [name for name in self._here if name in kept]

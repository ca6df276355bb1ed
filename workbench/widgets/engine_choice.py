"""Which engines to train with, and why some cannot run here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from workbench.compare import DEFAULT_ENGINES
from workbench.errors import EngineError
from workbench.settings.config import OFFERED_ENGINES
from workbench.widgets.bundle import bundle

CHECKING = "looking whether it can run here …"
TIMEOUT_S = 120


class EngineChoice(anywidget.AnyWidget):
    """A check box for each engine. An engine that cannot run here says why and cannot be chosen."""

    _esm = bundle("engine_choice.js")
    _css = bundle("engine_choice.css")

    label = traitlets.Unicode("Engines").tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    """One dict an engine: name, description, ok, reason, remedy."""
    value = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Names of the chosen engines, in the order of the rows."""
    disabled = traitlets.Bool(False).tag(sync=True)

    def __init__(self, offered: Sequence[str] = OFFERED_ENGINES, **kwargs: Any) -> None:
        rows = [
            {"name": name, "description": CHECKING, "ok": True, "reason": "", "remedy": ""}
            for name in offered
        ]
        chosen = [name for name in offered if name in DEFAULT_ENGINES] or list(offered)
        super().__init__(rows=rows, value=chosen, **kwargs)

    def look(self) -> None:
        """Find out which engines can run here; takes about a second, so not in a handler.

        Raises:
            EngineError: that cannot be found out.
        """
        known = {row["name"]: row for row in engine_rows()}
        self.rows = [known[row["name"]] for row in self.rows]
        self.value = [name for name in self.value if known[name]["ok"]]


def engine_rows() -> list[dict[str, Any]]:
    """Every engine with whether it can run here, asked of a process like those that train.

    The kernel itself never loads an engine.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-m", "workbench.engines"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        cause = done.stderr.strip().rpartition("\n")[2]
        raise EngineError(
            f"The engines could not be listed: {cause}. Run `workbench doctor` in a terminal."
        )
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows

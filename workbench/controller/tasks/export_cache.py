"""The exports that are kept for the next run: what they take, whether they are kept, clearing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.controller.forms.setting_fields import SettingField
from workbench.controller.setup import Setup
from workbench.controller.tasks.task import Inputs, Report, Task, TaskResult
from workbench.errors import WorkbenchError
from workbench.export_cache.cache import ExportCache
from workbench.export_cache.clear import clear_cache
from workbench.files.user_cache import OFF, VARIABLE
from workbench.models import Model
from workbench.run_folder.statistics import size_text

ON = "on"


class ExportCacheTask(Task):
    """Of the user, for every notebook; switched on and off for this one."""

    name = "cache"
    step = "artifacts"
    place = "first"
    title = "Export cache"
    explanation = (
        "A model that was exported before, with the same code and settings, is taken from the "
        "cache: training begins sooner. Switched off, neither exports nor tunings are kept by this "
        "notebook."
    )
    action = "Remove cached exports"
    needs_model = False
    fields = (
        SettingField("use", "Cache", "", "choice", "as this notebook was started", (ON, OFF)),
    )

    def __init__(self) -> None:
        self._before: list[str | None] = []
        """The variable as it was before the switch was first used, once it was."""
        self._written: str | None = None
        """Value last set by the switch. Another value was set by the notebook."""

    def run(self, inputs: Inputs, report: Report) -> TaskResult:  # noqa: ARG002
        if os.environ.get(VARIABLE) == OFF:
            raise WorkbenchError("The cache is off: switch it on to remove what is in it.")
        messages: list[str] = []
        removed_bytes = clear_cache(messages.append)
        if messages:
            raise WorkbenchError(" ".join(messages))
        return TaskResult(f"Removed {size_text(removed_bytes)}.")

    def code(
        self,
        setup: Setup,  # noqa: ARG002
        values: Mapping[str, Any],
        given: Sequence[str],  # noqa: ARG002
    ) -> list[str]:
        lines = []
        if "use" in values:
            value = self._value(values["use"])
            change = f'["{VARIABLE}"] = {value!r}' if value else f'.pop("{VARIABLE}", None)'
            lines = ["import os", "", f"os.environ{change}"]
        if values.get("use") == OFF:  # in which there is nothing to remove
            return [*lines, ""]
        imported = "from workbench.export_cache.clear import clear_cache"
        return [imported, *lines, "clear_cache()", ""]

    def typed(self, values: Mapping[str, Any]) -> None:
        now = os.environ.get(VARIABLE)
        if not self._before or now != self._written:
            self._before = [now]
        value = self._written = self._value(values.get("use"))
        if value is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = value

    def describe(self, model: Model | None) -> str:  # noqa: ARG002
        messages: list[str] = []
        cache = ExportCache.of_user(messages.append)
        if cache is None:
            return " ".join(messages) or "It is off."
        count, size_bytes = cache.contents()
        exports = "1 export" if count == 1 else f"{count} exports"
        return f"{exports}, {size_text(size_bytes)}, in {cache.folder}."

    def _value(self, use: str | None) -> str | None:
        """The variable for a choice; None: unset."""
        [before] = self._before or [os.environ.get(VARIABLE)]
        if use == OFF:
            return OFF
        return None if use == ON and before == OFF else before

"""The settings that differ between the runs of a comparison."""

from __future__ import annotations

import anywidget
import traitlets

from workbench.compare import Comparison, RunComparison
from workbench.settings.setting_labels import setting_label
from workbench.widgets.bundle import bundle


class DifferencesTable(anywidget.AnyWidget):
    """One row for each setting that differs between runs; others are omitted."""

    _esm = bundle("differences_table.js")
    _css = bundle("differences_table.css")

    runs = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """The columns; empty: nothing is shown."""
    rows = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "setting": traitlets.Unicode(),
                "values": traitlets.List(traitlets.Unicode()),
            }
        )
    ).tag(sync=True)
    """The label of a setting and its value in each run."""

    def clear(self) -> None:
        """Show nothing."""
        self.rows, self.runs = [], []

    def show(self, comparison: Comparison | RunComparison) -> None:
        """Show the settings that differ between the runs of `comparison`."""
        frame = comparison.differences()
        runs = [*frame.columns]
        rows = [
            {"setting": setting_label(setting), "values": [*values]}
            for setting, values in zip(frame.index, frame.to_numpy().tolist(), strict=True)
        ]
        if (runs, rows) == (self.runs, self.rows):
            return
        # Never rows of other columns.
        self.rows = []
        self.runs = runs
        self.rows = rows

"""Statistics of the engines, in a foldable section under the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from workbench.compare import MARK
from workbench.run_folder.statistics import Statistics
from workbench.runs import Run
from workbench.widgets.bundle import bundle
from workbench.widgets.engine_styles import HasEngineStyles


class RunStatistics(HasEngineStyles, anywidget.AnyWidget):
    """The statistics of each engine that has some: graphs, nodes, memory, PyTorch fallbacks."""

    _esm = bundle("run_statistics.js")
    _css = bundle("run_statistics.css")

    engines = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "engine": traitlets.Unicode(),
                "notes": traitlets.List(traitlets.Unicode()),
                "lines": traitlets.List(
                    traitlets.Dict(
                        per_key_traits={
                            "name": traitlets.Unicode(),
                            "value": traitlets.Unicode(),
                            "level": traitlets.Int(),
                        }
                    )
                ),
            }
        )
    ).tag(sync=True)
    """One dict an engine: `engine`; `notes`, sentences on PyTorch fallbacks; `lines`,
    dicts of `name`, `value` and `level`, 1 for a detail of the line above."""
    mark = traitlets.Unicode(MARK).tag(sync=True)
    """Mark before a note, and after the engine's name in the table of a comparison."""

    def clear(self) -> None:
        """Show nothing."""
        self.engines = []

    def show(self, runs: Mapping[str, Run], *, notes: bool) -> None:
        """Show the statistics of ended runs, by engine.

        Args:
            runs: by engine.
            notes: show PyTorch fallbacks outside of the folded section too; the table of a
                comparison already has them.
        """
        found = {engine: run.statistics for engine, run in runs.items()}
        self.engines = [
            _record(engine, statistics, notes) for engine, statistics in found.items() if statistics
        ]


def _record(engine: str, statistics: Statistics, notes: bool) -> dict[str, Any]:
    return {
        "engine": engine,
        "notes": [str(each) for each in statistics.pytorch_fallbacks] if notes else [],
        "lines": [line._asdict() for line in statistics.lines()],
    }

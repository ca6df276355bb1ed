"""Shows engines of a comparison, or any recorded runs, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.compare import Comparison, RunComparison, compare_runs, load_comparison
from workbench.controller.following.update_pace import BUSY_PERIOD_S, next_update
from workbench.controller.request_thread import RequestThread
from workbench.errors import RunFolderError
from workbench.figures.curve_style import curve_styles
from workbench.run_folder.run_reader import RunReader
from workbench.runs import Run
from workbench.runs.listing import Changes
from workbench.runs.record.activity import ENDED
from workbench.widgets.charts import NOTHING_HINT, Charts
from workbench.widgets.compare.comparison_table import ComparisonTable, rates_note
from workbench.widgets.compare.differences_table import DifferencesTable
from workbench.widgets.compare.result_bars import NOTHING_YET, STARTING, ResultBars
from workbench.widgets.page.boxes import Area
from workbench.widgets.page.shown_alone import ShownAlone
from workbench.widgets.run_statistics import RunStatistics
from workbench.widgets.subshell import answer_while_busy

PERIOD_S = 0.5
"""Interval of looks whether the runs have ended, and of updates before the first step."""
RECORDED_RATIOS = 5
"""Updates of runs in progress that were started apart for one of their ratios, which reads all of
their records."""
SHOWN = "wb-shown"
"""The class of a view with content: in a narrow page it is placed before the form. Without it the
charts are not shown."""
READING = "Reading the recorded runs …"
RUNNING_HINT = "The table appears when every run has ended."
FAILED_HINT = "The comparison cannot be shown: "
ALL_DELETED = "The compared runs were deleted. Those that are restored are shown again."

Shown = Comparison | Run | str | Path


class ComparisonView(ShownAlone, Area):
    """The verdict, ratios, charts, table and differing settings of some runs.

    Everything that it shows is also available in Python: `comparison.verdict()`, `.table()`,
    `.differences()`, and `charts.values(at)`, `charts.save(path)`.
    """

    def __init__(self, *shown: Shown, hint: str = NOTHING_YET) -> None:
        """Create the view.

        Args:
            *shown: see `show`; nothing: an empty view.
            hint: text while nothing is shown.
        """
        self.comparison: Comparison | RunComparison | None = None
        self.ratios = ResultBars(verdict=hint)
        self.charts = Charts(show_values=True)
        self.table = ComparisonTable()
        self.differences = DifferencesTable()
        self.statistics = RunStatistics()
        self.on_read: Callable[[Comparison | RunComparison], None] = lambda _: None
        """Called on a thread of the view with what has ended and is shown whole."""
        self._given: list[Run] = []
        """The runs to be compared, those that were deleted meanwhile included."""
        self._deleted: dict[str, str] = {}
        """Their names, by id."""
        # Of the thread:
        self._followed: Comparison | RunComparison | None = None
        self._whole = False
        """Whether all of it is shown: runs that are trained further since are not followed."""
        self._readers: dict[str, RunReader] = {}
        self._updates = 0
        self._update_after = 0.0
        self._thread = RequestThread("comparison-view", self._failed, self._tick, PERIOD_S)
        children = [self.ratios, self.charts, self.table, self.differences, self.statistics]
        super().__init__(children=children)
        self.add_class("wb-comparison-view")
        self.layout.flex_flow = "column"
        answer_while_busy(self)
        if shown:
            self.show(*shown)

    @property
    def _keeper(self) -> ResultBars:
        return self.ratios

    def show(self, *shown: Shown) -> None:
        """Show these in place of the previous ones, and follow those in progress.

        Args:
            *shown: one `Comparison` or its id, whose engines were measured in lockstep; or any
                runs: each a `Run`, its id or its folder, or a comparison, for all its
                runs. The first of PyTorch is the reference, else the first.

        Raises:
            ConfigError: there are none, or one is given twice.
            RunFolderError: there is no such run or comparison, or it cannot be read.
        """
        given = [_loaded(each) for each in shown]
        first = given[0] if len(given) == 1 else None
        comparison = first if isinstance(first, Comparison) else compare_runs(given)
        self._given, self._deleted = [*comparison.runs.values()], {}
        self._show(comparison)

    def follow(self, changes: Changes) -> list[str]:
        """Show the shown runs by their new names; leave out those that were deleted, until they are
        restored, and say so.

        Args:
            changes: of the list of recorded runs.

        Returns:
            Ids of the runs that are shown from now on; empty where nothing has changed.
        """
        shown, before = self.comparison, dict(self._deleted)
        names = _names_by_id(shown)
        present = {row.id for row in changes.rows}
        for run_id in {*names, *(run.id for run in self._given)}:
            if run_id in present:
                self._deleted.pop(run_id, None)
            elif run_id in changes.removed:
                self._deleted[run_id] = names.get(run_id, run_id)
        if isinstance(shown, Comparison):
            # Measured together, so that the figures stand together.
            if before != self._deleted:
                remark = "".join(
                    f"The run of {engine} was deleted; its figures are as read before. "
                    for engine in self._deleted.values()
                )
                self._thread.ask(lambda: self.ratios.remark(remark.rstrip()))
            return []
        resumed = self._whole and any(
            row.id in names and row.status not in ENDED for row in changes.rows
        )
        if before == self._deleted and not names.keys() & present:
            return []
        left = [run for run in self._given if run.id not in self._deleted]
        if not left:
            self._clear(ALL_DELETED)
            return []
        comparison = compare_runs(left)
        if _names_by_id(comparison) == names and not resumed:
            return []
        remark = "".join(f"{name} was deleted and is left out. " for name in self._deleted.values())
        self._show(comparison, remark.rstrip())
        return [run.id for run in left]

    def _show(self, comparison: Comparison | RunComparison, remark: str = "") -> None:
        self.comparison = comparison
        self.add_class(SHOWN)
        self._thread.ask(lambda: self._begin(comparison, remark))

    def clear(self, hint: str) -> None:
        """Show only a sentence with the reason."""
        self._given, self._deleted = [], {}
        self._clear(hint)

    def _clear(self, hint: str) -> None:
        self.comparison = None
        self.remove_class(SHOWN)

        def begin() -> None:
            if self.comparison is not None:
                return  # something was shown meanwhile
            self._followed, self._readers = None, {}
            self.charts.reset([])
            self.ratios.clear(hint)
            self.table.clear()
            self.differences.clear()
            self.statistics.clear()

        self._thread.ask(begin)

    def close(self) -> None:
        """Close the view; runs in progress continue."""
        self._thread.close()
        self.charts.close()
        super().close()

    def _begin(self, comparison: Comparison | RunComparison, remark: str) -> None:
        if comparison is not self.comparison:
            return  # another was requested meanwhile
        self._followed, self._readers, self._updates, self._update_after = comparison, {}, 0, 0.0
        self._whole = False
        self.charts.reset(names_of(comparison), engines=_engines(comparison))
        starting = isinstance(comparison, Comparison) and not comparison.ended
        self.ratios.clear(STARTING if starting else READING, awaited=len(names_of(comparison)))
        self.ratios.remark(remark)
        self.statistics.clear()
        if comparison.ended:
            # They are shown together once the runs are read, which takes seconds for long ones.
            self.charts.hint = READING
            self.table.clear(READING)
            self.differences.clear()
        else:
            self.table.clear(RUNNING_HINT)
            self.differences.show(comparison)
        # The tick that follows reads the runs: one here would read those that have ended twice.

    def _tick(self) -> bool:
        comparison = self._followed
        if comparison is None:
            return False
        # Before the points, so that those written before the end are read before it is shown.
        ended = comparison.ended
        if not ended and time.monotonic() < self._update_after:
            return True
        self._read(comparison)
        if ended:
            self._show_whole(comparison)
            return False
        self._show_so_far(comparison)
        self._updates += 1
        if not self.charts.empty:  # what is measured needs the machine
            self._update_after = next_update(time.monotonic(), BUSY_PERIOD_S)
        return True

    def _read(self, comparison: Comparison | RunComparison) -> None:
        """Show the points recorded since the last call."""
        for name, run in comparison.runs.items():
            if name not in self._readers:
                self._readers[name] = run.follow()
                self.charts.name(name, run)
                steps = run.progress.total_steps
                self.charts.total_steps = max(self.charts.total_steps, steps)
            self.charts.add(name, self._readers[name].poll(), run.config.warmup_steps)
        self.charts.flush()

    def _show_so_far(self, comparison: Comparison | RunComparison) -> None:
        if isinstance(comparison, Comparison):
            self.charts.hint = f"Comparing engines; {comparison.phase}."
            due = self._updates > 0
        else:
            due = self._updates % RECORDED_RATIOS == 1
            rates = {name: run.samples_per_s for name, run in comparison.runs.items() if run.ended}
            self.charts.show_rates(rates, rates_note(comparison, busy=self._busy))
        if due:
            self._show_ratios(comparison)

    def _show_whole(self, comparison: Comparison | RunComparison) -> None:
        self.charts.total_steps = 0
        self.charts.hint = NOTHING_HINT
        with self.table.hold_sync():
            self.table.show(comparison, _styles(comparison))
        self._show_ratios(comparison)
        note = rates_note(comparison, busy=self._busy)
        self.charts.show_rates(self.table.throughputs, note)
        self.differences.show(comparison)
        # The table has the notes.
        self.statistics.show(comparison.runs, notes=False)
        self._whole = True
        self.on_read(comparison)

    @property
    def _busy(self) -> bool:
        """Whether the verdict says that the machine was busy."""
        return self.ratios.level == "busy"

    def _show_ratios(self, comparison: Comparison | RunComparison) -> None:
        self.ratios.show(comparison, _styles(comparison))
        # Without a badge it says why there is no verdict.
        self.charts.verdict = self.ratios.verdict if self.ratios.badge else ""

    def _failed(self, error: Exception) -> None:
        self.charts.hint = f"{FAILED_HINT}{error}"
        self.table.clear(self.charts.hint)


def _styles(comparison: Comparison | RunComparison) -> dict[str, dict[str, Any]]:
    return curve_styles(_engines(comparison))


def names_of(comparison: Comparison | RunComparison) -> list[str]:
    """The names of the curves: engines, or names of runs."""
    return [*(comparison.engines if isinstance(comparison, Comparison) else comparison.runs)]


def _names_by_id(comparison: Comparison | RunComparison | None) -> dict[str, str]:
    return {} if comparison is None else {run.id: name for name, run in comparison.runs.items()}


def _engines(comparison: Comparison | RunComparison) -> dict[str, str]:
    if isinstance(comparison, Comparison):
        return {engine: engine for engine in comparison.engines}
    return {name: run.engine for name, run in comparison.runs.items()}


def _loaded(given: Shown) -> Comparison | Run | str | Path:
    """The comparison of that id, if there is one; a run is loaded by `compare_runs`."""
    if not isinstance(given, str):
        return given
    try:
        return load_comparison(given)
    except RunFolderError:
        return given

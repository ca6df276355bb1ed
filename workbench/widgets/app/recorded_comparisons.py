"""Shows what was recorded or started elsewhere: of several runs, in the step Compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.compare import Comparison, RunComparison, load_comparison
from workbench.controller import Controller
from workbench.controller.code.run_action_code import action_code, comparison_code
from workbench.controller.recorded_runs.recorded_comparisons import recorded_comparison
from workbench.controller.steps import StepsView
from workbench.errors import ConfigError, WorkbenchError, value_text
from workbench.runs import Run
from workbench.runs.listing import Changes
from workbench.widgets.app.app_bar import AppBar
from workbench.widgets.app.code_view import CodeView
from workbench.widgets.compare import ComparisonView
from workbench.widgets.model.choice_field import ChoiceField
from workbench.widgets.model.options import comparison_options

OF_RUNS = "recorded runs"
"""State of the step Compare while it shows runs that were chosen one by one."""


class RecordedComparisons:
    """The field in which one is chosen, and what else shows them."""

    def __init__(
        self,
        bar: AppBar,
        steps: StepsView,
        comparison: ComparisonView,
        code: CodeView,
        controller: Controller,
    ) -> None:
        """
        Args:
            bar: is told the step.
            steps: are told that recorded runs are shown.
            comparison: shows them.
            code: is told the equivalent code.
            controller: reports what is shown, in a sentence.
        """
        self.field = ChoiceField(
            lambda _: comparison_options(),
            label="Recorded comparison",
            list_label="Comparisons",
            placeholder="open one that was made before",
        )
        self.field.add_class("wb-detail-first")  # what was compared says more than its id
        self._bar, self._steps = bar, steps
        self._comparison, self._code, self._controller = comparison, code, controller
        self._reported = ""
        """What is reported of it now,"""
        self._message = ""
        """and whenever its step is entered."""
        self.field.observe(self._on_chosen, "value")
        bar.observe(self._on_step, "selected")
        self.field.on_again = self._on_chosen

    def show(self, job: Run | Comparison | RunComparison) -> None:
        """Show what was started, or has ended, elsewhere; recorded runs beside each other.

        Raises:
            ConfigError: it is none of these.
        """
        if isinstance(job, RunComparison):
            self.compare([*job.runs.values()])
        elif isinstance(job, Run | Comparison):
            self._controller.show(job)
        else:
            given = value_text(job)
            raise ConfigError([f"show({given}): give a Run, as load_run returns, or a comparison."])

    def compare(self, runs: Sequence[Run]) -> None:
        """Compare recorded runs."""
        self.field.value = ""  # what it named is no longer shown
        self._comparison.show(*runs)
        self._show(action_code("compare", [run.id for run in runs], ""), OF_RUNS)
        self._bar.selected = "compare"
        self._report("The step Compare shows recorded runs.")

    def open(self, comparison_id: str) -> None:
        """Show a recorded comparison."""
        if self.field.value == comparison_id:  # else it is told
            self._on_chosen()
        self.field.value = comparison_id
        self._bar.selected = "compare"

    def follow(self, changes: Changes) -> None:
        """The recorded runs have changed: some may be renamed, deleted or restored."""
        empty, ids = self._comparison.comparison is None, self._comparison.follow(changes)
        all_deleted = not empty and self._comparison.comparison is None
        if all_deleted and self._reported:
            self._controller.forget_outcome(self._reported)
        if all_deleted or (ids and (self._code.recorded or empty)):
            self.field.value = ""
            self._show(action_code("compare", ids, "") if ids else "", OF_RUNS)

    def _on_chosen(self, _: Any = None) -> None:
        self.field.problem = self.field.description = ""
        if comparison_id := self.field.value.strip():
            try:
                self._comparison.show(load_comparison(comparison_id))
                self._show(comparison_code(comparison_id), "recorded comparison")
                self._bar.show_results()
                self.field.description = recorded_comparison(comparison_id).text
                self._report(
                    f"The step Compare shows a recorded comparison: {self.field.description}."
                )
            except WorkbenchError as error:
                self.field.problem = str(error)

    def _on_step(self, change: Any) -> None:
        """In another step it is not said what Compare shows."""
        if change.new == "compare" and self._steps.recorded and self._message:
            self._report(self._message)
        elif change.new != "compare" and self._reported:
            self._controller.forget_outcome(self._reported)
            self._reported = ""

    def _report(self, message: str) -> None:
        self._reported = self._message = message
        self._controller.report(message)

    def _show(self, code: str, what: str) -> None:
        self._steps.show_recorded(what if code else "")
        self._code.recorded = code
        self._code.update()

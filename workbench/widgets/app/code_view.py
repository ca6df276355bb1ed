"""Shows the Python code of each step of the app."""

from __future__ import annotations

from collections.abc import Callable

from workbench.compare import Comparison, RunComparison
from workbench.controller import Controller
from workbench.controller.code.page_code import code_for
from workbench.controller.steps import NAMES
from workbench.widgets.compare import ComparisonView
from workbench.widgets.page.code_panel import CodePanel


class CodeView:
    """Writes the code into the panel."""

    def __init__(
        self,
        controller: Controller,
        panel: CodePanel,
        comparison: ComparisonView,
        runs_code: Callable[[], str],
    ) -> None:
        """
        Args:
            controller: of the app, with what is set up.
            panel: shows the code.
            comparison: the view of the step Compare.
            runs_code: returns the code of the step Runs.
        """
        self.recorded = ""
        """Code of the recorded runs in view; empty: the step Compare has that of its form."""
        self._controller = controller
        self._panel = panel
        self._comparison = comparison
        self._runs_code = runs_code

    def update(self) -> None:
        """Show the code of now."""
        setup = self._controller.setup
        code = {name: code_for(setup, name) for name in NAMES if name != "runs"}
        code["compare"] = self.recorded or _beside(self._comparison.comparison) + code["compare"]
        self._panel.code = {**code, "runs": self._runs_code()}


def _beside(shown: Comparison | RunComparison | None) -> str:
    """A comment on the code of the form, which another comparison may be in view with."""
    if isinstance(shown, Comparison):
        return f"# As the form is now. In view is wb.load_comparison({shown.id!r}).\n"
    return "" if shown is None else "# As the form is now, not the recorded runs in view.\n"

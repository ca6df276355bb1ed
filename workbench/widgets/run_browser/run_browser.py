"""The recorded runs as a separate page, or as a part of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import traitlets

from workbench.controller.code.runs_code import runs_code
from workbench.controller.jobs.outcome import listed
from workbench.controller.recorded_runs.deleted_runs import DeletedRun
from workbench.controller.recorded_runs.recorded_runs import RecordedRuns
from workbench.controller.recorded_runs.run_detail import FOLDER_GONE, RunDescription
from workbench.controller.recorded_runs.runs_view import Outcome
from workbench.load.base_sample import base_samples
from workbench.models import Model
from workbench.runs import Run
from workbench.runs.listing import Changes
from workbench.runs.trash import is_deleted
from workbench.widgets.compare import ComparisonView
from workbench.widgets.page.boxes import Area
from workbench.widgets.page.code_panel import CodePanel
from workbench.widgets.run_browser.open_run import OpenRun
from workbench.widgets.run_browser.run_actions import RunActions
from workbench.widgets.run_browser.run_table import RunTable
from workbench.widgets.subshell import answer_while_busy

PLAIN_TEXT = "The recorded runs: run this cell in JupyterLab to see them."


class RunBrowser(Area):
    """All recorded runs: search, sort, filter, label, open, compare, resume, export, delete.

    Its methods are those of its buttons and return immediately; `wait` blocks. Search, order,
    filters and selection are attributes of `table`: `query`, `sort_by`, `descending`, `filters`,
    `selected`.
    """

    code = traitlets.Unicode()
    """The equivalent Python code for the selected runs, or for the open run."""

    def __init__(
        self,
        *,
        on_open: Callable[[Run], None] | None = None,
        on_compare: Callable[[list[Run]], None] | None = None,
        on_resume: Callable[[Run], str] = lambda _: "",
        resume_refusal: Callable[[Run], str] = lambda _: "",
        model_to_resume: Callable[[Run], Model | None] = lambda _: None,
        on_restore: Callable[[Run], None] | None = None,
        on_personalise: Callable[[Run], None] | None = None,
        on_changes: Callable[[Changes], None] = lambda _: None,
        least_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """List the runs of this directory, and continue listing new ones.

        The functions are called on the browser's own thread.

        Args:
            on_open: called with an opened run; None: it is shown below the list.
            on_compare: called with the runs that are compared; None: a `ComparisonView` of them
                is shown below the list.
            on_resume: called with a run that is resumed; returns what is done beside it, in
                sentences.
            resume_refusal: returns why a run cannot be resumed now; empty: it can.
            model_to_resume: returns the model that a run needs to be resumed or exported; None:
                none.
            on_restore: called with the open run, to restore its settings; None: no button.
            on_personalise: called with a run to fine-tune on own examples; None: no button.
            on_changes: called with each change of the list.
            least_s: returns the least seconds between two polls of the folder now.
        """
        self._on_changes = on_changes
        self._actions: RunActions | None = None
        bases = [] if on_personalise is None else list(base_samples())
        self.table = RunTable(self._act, bases=bases)
        self.opened = OpenRun(None if on_restore is None else self.restore)
        """The open run."""
        self.comparison: ComparisonView | None = None
        """The last comparison, where no other view shows it."""
        self.opened.detail.observe(self.show_code, "heading")
        self.opened.detail.observe(self._on_selected, "run_id")
        self.table.observe(self._on_selected, "selected")
        panel = [] if on_compare else [CodePanel(step="runs")]
        self._panel = panel[0] if panel else None
        """Shows the code where there is no bar to ask for it."""
        self._parts = [*panel, self.table, self.opened]
        super().__init__(children=self._parts)
        self.add_class("wb-run-browser")
        self.layout.display = "block"
        self.layout.overflow = "visible"
        self.show_code()
        if self._panel is not None:
            self._panel.page_id = self.model_id
        answer_while_busy(self)
        self._runs = RecordedRuns(_View(self), least_s)
        self._actions = RunActions(self._runs, self.table, self.show_code)
        self._runs.on_open = on_open
        self._runs.on_compare = on_compare or self._show_comparison
        self._runs.resumption.on_resume = on_resume
        self._runs.resumption.refusal = resume_refusal
        self._runs.resumption.model_for = self._runs.exports.model_for = model_to_resume
        self._runs.on_restore = on_restore
        self._runs.on_personalise = on_personalise
        self.table.folder = self._runs.folder

    def open_run(self, run_id: str) -> None:
        """Open a run."""
        self._runs.open(run_id)

    def compare(self, run_ids: Sequence[str]) -> None:
        """Show two runs or more side by side."""
        self._runs.compare(run_ids)

    def resume(self, run_id: str) -> None:
        """Resume a run after a pause, or from its latest checkpoint."""
        self._runs.resume(run_id)

    def train_further(self, run_id: str, total: int) -> None:
        """Resume a run that has ended, to `total` steps, or rounds if it is federated."""
        self._runs.train_further(run_id, total)

    def restore(self, run_id: str) -> None:
        """Restore the model, the data and the settings that a run was started with."""
        self._runs.restore(run_id)

    def personalise(self, run_id: str) -> None:
        """Fine-tune the trained model of a run on a user's own examples."""
        self._runs.personalise(run_id)

    def stop(self, run_ids: Sequence[str]) -> None:
        """Stop runs that are in progress."""
        self._runs.stop(run_ids)

    def export(self, run_id: str, path: str, *, merge_lora: bool = True) -> None:
        """Export the trained model of a run to the .onnx file `path`, or the adapters of LoRA alone
        to an .onnx_adapter file; `merge_lora`: see `Run.export`."""
        self._runs.export(run_id, path, merge_lora=merge_lora)

    def quantize(self, run_id: str, path: str) -> None:
        """Export the trained model of a run as int8 to the .onnx file `path`, and compare both."""
        self._runs.quantize(run_id, path)

    def cancel(self) -> None:
        """End the export that is in progress."""
        self._runs.cancel()

    def rename(self, run_id: str, name: str) -> None:
        """Give a run another display name; empty: model, engine and start."""
        self._runs.rename(run_id, name)

    def tag(self, run_ids: Sequence[str], tags: Sequence[str] | str) -> None:
        """Replace the tags of runs; a string is a list with commas."""
        self._runs.tag(run_ids, tags)

    def change_tags(
        self,
        run_ids: Sequence[str],
        add: Sequence[str] | str = (),
        remove: Sequence[str] | str = (),
    ) -> None:
        """Add and remove tags of runs; their other tags are kept."""
        self._runs.change_tags(run_ids, add, remove)

    def note(self, run_id: str, notes: str) -> None:
        """Replace the notes on a run."""
        self._runs.note(run_id, notes)

    def delete(self, run_ids: Sequence[str]) -> None:
        """Move runs to the trash, from which `undelete` restores them."""
        self._runs.delete(run_ids)

    def undelete(self, run_ids: Sequence[str]) -> None:
        """Restore deleted runs."""
        self._runs.undelete(run_ids)

    def refresh(self) -> None:
        """Poll for new runs now."""
        self._runs.refresh()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all requests are done; False on a timeout."""
        return self._runs.wait(timeout)

    def close(self) -> None:
        """Close the page and end its threads."""
        self._runs.close()
        self.opened.close()
        if self.comparison is not None:
            self.comparison.close()
        super().close()

    def _show_comparison(self, runs: list[Run]) -> None:
        self.opened.close_run()
        if self.comparison is None:
            self.comparison = ComparisonView()
            self.children = [*self._parts, self.comparison]
        self.comparison.layout.display = None
        self.comparison.show(*runs)

    def _show_detail(self, detail: RunDescription) -> None:
        if self.comparison is not None:
            self.comparison.layout.display = "none"
        self.opened.show(detail)

    def _on_selected(self, _: Any) -> None:
        if self.table.follows_rows:
            self.show_code()
        else:
            self.forget_action()
            self.table.forget_outcome()

    def forget_action(self) -> None:
        """Show the code of the runs again, in place of that of the last action."""
        if self._actions is not None:
            self._actions.code = ""
        self.show_code()

    def show_code(self, _: Any = None) -> None:
        """Show the code of the last action, or of the selected or open runs."""
        detail = self.opened.detail
        opened = [detail.run_id] if detail.heading else []
        selected = self.table.known(self.table.selected or opened)
        done = "" if self._actions is None else self._actions.code
        self.code = done or runs_code(selected)
        if self._panel is not None:
            self._panel.code = {"runs": self.code}

    def _act(self, name: str, run_ids: list[str], text: str) -> None:
        if self._actions is not None:
            self._actions.act(name, run_ids, text)

    def _ipython_display_(self, **_: Any) -> None:
        from IPython.display import display

        data = self._repr_mimebundle_()
        display({**data, "text/plain": PLAIN_TEXT}, raw=True)  # type: ignore[no-untyped-call]


class _View:
    """The `RunsView` of a browser."""

    def __init__(self, browser: RunBrowser) -> None:
        self._browser = browser
        self._table = browser.table

    def show_changes(self, changes: Changes) -> None:
        selected = self._table.known(self._table.selected)
        gone = [row for row in selected if row.id in changes.removed and not is_deleted(row.id)]
        self._table.change(changes)
        if gone:
            names = listed([row.name or row.id for row in gone])
            self._table.show_outcome("error", f"{names}: another program removed the folder.")
        self._browser.opened.follow(changes.rows)
        detail = self._browser.opened.detail
        if detail.heading and detail.run_id in changes.removed:
            detail.problem = FOLDER_GONE
        if self._browser.comparison is not None:
            self._browser.comparison.follow(changes)
        self._browser._on_changes(changes)
        self._browser.show_code()

    def show_problem(self, problem: str) -> None:
        self._table.problem = problem

    def show_outcome(
        self,
        outcome: Outcome,
        message: str,
        undo: Sequence[str] = (),
        *,
        cancellable: bool = False,
    ) -> None:
        if outcome == "error":
            self._browser.forget_action()
        self._table.show_outcome(outcome, message, undo, cancellable=cancellable)

    def show_deleted(self, deleted: Sequence[DeletedRun], total: int) -> None:
        with self._table.hold_sync():
            self._table.deleted = [each._asdict() for each in deleted]
            self._table.deleted_total = total
        if self._browser.opened.detail.run_id in {each.id for each in deleted}:
            self._browser.opened.close_run()

    def show_detail(self, detail: RunDescription) -> None:
        self._browser._show_detail(detail)

"""Carries out the actions of the buttons of a list of runs."""

from __future__ import annotations

from collections.abc import Callable

from workbench.controller.code.run_action_code import action_code
from workbench.controller.forms.setting_texts import read_whole
from workbench.controller.recorded_runs.recorded_runs import RecordedRuns
from workbench.widgets.run_browser.run_table import RunTable


class RunActions:
    """Calls what a button of the list stands for, and keeps its Python code."""

    def __init__(self, runs: RecordedRuns, table: RunTable, show_code: Callable[[], None]) -> None:
        """
        Args:
            runs: carries the actions out.
            table: of the runs.
            show_code: called after `code` has changed.
        """
        self._runs = runs
        self._table = table
        self._show_code = show_code
        self.code = ""
        """The Python code of the last action, until other runs are selected."""

    def act(self, name: str, run_ids: list[str], text: str) -> None:
        """Carry out an action.

        Args:
            name: that of the button, or of the alternative that was chosen in its field.
            run_ids: the selected runs.
            text: typed in its field.
        """
        runs = self._runs
        if name == "cancel":
            runs.cancel()
        if not run_ids or name == "cancel":
            return
        if name == "train_further":
            self._train_further(run_ids[0], text)
            return
        paused = [row.status == "paused" for row in self._table.known(run_ids)] == [True]
        self._show("resume_paused" if name == "resume" and paused else name, run_ids, text)
        match name:
            case "open":
                runs.open(run_ids[0])
            case "resume" | "personalise":
                getattr(runs, name)(run_ids[0])
            case "compare" | "stop" | "delete" | "undelete":
                getattr(runs, name)(run_ids)
            case "export_unmerged":
                runs.export(run_ids[0], text, merge_lora=False)
            case "export" | "quantize" | "rename" | "note":
                getattr(runs, name)(run_ids[0], text)
            case "tag":
                runs.tag(run_ids, text)
            case "add_tags":
                runs.change_tags(run_ids, add=text)
            case "remove_tags":
                runs.change_tags(run_ids, remove=text)

    def _train_further(self, run_id: str, text: str) -> None:
        [row] = self._table.known([run_id])
        try:
            total = read_whole(text.strip())
        except ValueError as error:
            problem = str(error) if text.strip() else f"Give the total number of {row.step_word}s."
            self._table.show_outcome("error", problem)
            return
        self._show("train_further", [run_id], f"{row.step_word}s={total}")
        self._runs.train_further(run_id, total)

    def _show(self, name: str, run_ids: list[str], text: str) -> None:
        # After Undo the runs are as before.
        self.code = "" if name == "undelete" else action_code(name, run_ids, text)
        self._show_code()

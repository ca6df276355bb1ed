"""The bar of the app: model and dataset, load of the machine, and the tabs of the steps."""

from __future__ import annotations

from collections.abc import Sequence

import anywidget
import traitlets

from workbench.controller.steps import Step
from workbench.machine.load import Load
from workbench.widgets.bundle import bundle


class AppBar(anywidget.AnyWidget):
    """Model, dataset and machine; a tab for each step; Code and Present.

    The tabs show the panels of the same page with the class `wb-step-NAME`.
    """

    _esm = bundle("app_bar.js")
    _css = bundle("app_bar.css")

    title = traitlets.Unicode().tag(sync=True)
    """Model and dataset; empty while nothing is chosen."""
    machine = traitlets.Unicode().tag(sync=True)
    """"quiet", "busy", or empty while not known."""
    machine_share = traitlets.Unicode().tag(sync=True)
    """What other programs use of a busy machine, as "1.4 of 2 cores"; empty of a quiet one."""
    verdict = traitlets.Unicode().tag(sync=True)
    """Result of the comparison that is shown, in a few words; empty without one."""
    verdict_detail = traitlets.Unicode().tag(sync=True)
    """The same in a sentence."""
    steps = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "name": traitlets.Unicode(),
                "title": traitlets.Unicode(),
                "state": traitlets.Unicode(),
                "note": traitlets.Unicode(),
            }
        )
    ).tag(sync=True)
    """One dict a step; `state` is "needs", "ready", "busy", "done" or "failed"."""
    selected = traitlets.Unicode("model").tag(sync=True)
    """Name of the shown step."""
    presenting = traitlets.Bool(False).tag(sync=True)
    """Whether a page that is reloaded is presented: it fills the window, in larger type."""
    code_shown = traitlets.Bool(False).tag(sync=True)
    """Whether the equivalent Python code is shown."""

    def show(self, steps: Sequence[Step]) -> None:
        """Show the state of each step."""
        self.steps = [step._asdict() for step in steps]

    def show_machine(self, load: Load) -> None:
        """Show what other programs use of the machine; callable from any thread."""
        with self.hold_sync():
            self.machine = "busy" if load.busy else "quiet"
            self.machine_share = load.share_text if load.busy else ""

    def show_results(self) -> None:
        """Scroll to the results of the shown step, where a user works in the page."""
        self.send({"kind": "results"})

    def show_refused(self, step: str) -> None:
        """Lead to the wrong field of the step "train" or "compare", which has fields of both."""
        self.send({"kind": "refused", "step": step})

    def show_verdict(self, summary: str, sentence: str) -> None:
        """Show what a comparison that has ended came to, in few words and in many; "": nothing."""
        with self.hold_sync():
            self.verdict, self.verdict_detail = summary, sentence

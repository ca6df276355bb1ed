"""The app: five steps from a model to the results of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets

from workbench.compare import Comparison, RunComparison
from workbench.controller import Controller, Setup
from workbench.controller.background.machine_watch import MachineWatch
from workbench.controller.forms.comparison_note import comparison_note
from workbench.controller.forms.setting_fields import COMPARISON_FIELDS
from workbench.controller.model.sources import model_or_name
from workbench.controller.notebook_file import may_save
from workbench.controller.state import IN_PROGRESS
from workbench.controller.steps import NAMES, StepsView
from workbench.controller.view import View
from workbench.errors import RunError
from workbench.runs import Run, load_run
from workbench.runs.listing import Changes
from workbench.widgets.app.app_bar import AppBar
from workbench.widgets.app.bar_view import BarView
from workbench.widgets.app.code_view import CodeView
from workbench.widgets.app.form_filler import FormFiller
from workbench.widgets.app.offer_list import OfferList
from workbench.widgets.app.page_view import PageView
from workbench.widgets.app.recorded_comparisons import RecordedComparisons
from workbench.widgets.app.run_list_pace import RunListPace
from workbench.widgets.app.static_figure import StaticFigure
from workbench.widgets.artifacts.artifact_builder import ArtifactBuilder
from workbench.widgets.compare import ComparisonView
from workbench.widgets.compare.result_bars import PRESS_COMPARE
from workbench.widgets.model.model_view import ModelView
from workbench.widgets.page.after_cells import after_each_cell
from workbench.widgets.page.boxes import Area, area
from workbench.widgets.page.code_panel import CodePanel
from workbench.widgets.page.controls import Controls
from workbench.widgets.page.standalone_step import actions_of
from workbench.widgets.page.status import Status
from workbench.widgets.page.status_view import StatusView
from workbench.widgets.run_browser import RunBrowser
from workbench.widgets.subshell import answer_while_busy
from workbench.widgets.train.engine_choice import EngineChoice, offered_names
from workbench.widgets.train.settings_form import SettingsForm
from workbench.widgets.train.trainer import Trainer

PLAIN_TEXT = "The workbench: run this cell in JupyterLab to use it."


class Workbench(Area):
    """An app to load a model, generate its artifacts, train it, compare engines and browse runs.

    Its methods are those of its buttons and return immediately; `wait` blocks. Each step is a
    widget that can also be used alone: `ModelView`, `ArtifactBuilder`, `Trainer`.
    """

    def __init__(
        self,
        model: Any = None,
        engines: Sequence[str] | None = None,
        *,
        saves_notebook: bool | None = None,
    ) -> None:
        """Create the app.

        Args:
            model: a `Model`, an object that has a name in the notebook, or a text: a sample, an
                .onnx file, or "package.module:factory". None: nothing chosen yet.
            engines: names of the engines to offer; None: all that are not for tests.
            saves_notebook: save the notebook when work begins and when it has ended, so that the
                page and its result are there after a reload; None: unless git tracks the file.

        Raises:
            EngineError: there is no engine of such a name.
            ModelError: the model is an object that a page cannot choose.
        """
        chosen = None if model is None else model_or_name(model)
        offered = offered_names(engines)
        try:
            self._controller = Controller(View(), Setup())
            self._make_parts(offered, may_save() if saves_notebook is None else saves_notebook)
            # Last, as their threads hold the page.
            self._watch = MachineWatch(self.bar.show_machine, self._page_view.worker_pids)
            self.runs = RunBrowser(
                on_compare=self._recorded.compare,
                on_resume=self._filler.go_on,
                resume_refusal=self._controller.resume_refusal,
                model_to_resume=self._controller.model_to_resume,
                on_restore=self.restore,
                on_personalise=self._personalise,
                on_changes=self._runs_changed,
                least_s=self._list_pace,
            )
            super().__init__(children=self._laid_out())
            self.add_class("wb-page")
            self._figure.page_id = self.code.page_id = self.model_id
            self._follow_changes()
            answer_while_busy(self)
            self._controller.list_engines()
            self._controller.list_offers()
            if chosen is not None:
                self.models.choose(chosen)
        except BaseException:
            self.close()
            raise

    def _make_parts(self, engines: Sequence[str], saves_notebook: bool) -> None:
        """Make the widgets that the page consists of."""
        controller = self._controller
        self.bar = AppBar()
        self.status = Status(message=controller.state.message)
        self.controls = Controls(actions_of(controller), self.bar.show_refused)
        self.code = CodePanel()
        self.models = ModelView(controller=controller)
        self.artifacts = ArtifactBuilder(controller=controller)
        self.trainer = Trainer(engines=engines, controller=controller)
        self._filler = FormFiller(controller, self.models, self.trainer)
        self.comparison_form = SettingsForm(
            controller.typed, COMPARISON_FIELDS, note=comparison_note
        )
        self.comparison = ComparisonView(hint=PRESS_COMPARE)
        self._steps = StepsView(controller.setup, controller.typed, self.bar.show)
        self._code = CodeView(controller, self.code, self.comparison, lambda: self.runs.code)
        shown = self.bar, self._steps, self.comparison, self._code
        self._recorded = RecordedComparisons(*shown, controller)
        self._list_pace = RunListPace(self.bar)
        accept = controller.accept, self._filler.begin_again, self._recorded.open
        self.offers = OfferList(*accept, controller.list_offers)
        self._figure = StaticFigure(saves=saves_notebook)
        parts = (self.bar, self.comparison, self._recorded.field, self._figure, self._filler)
        self._page_view = PageView(*parts, self._show_code, self._forget_recorded)

    def _laid_out(self) -> list[ipywidgets.Widget]:
        """Its children, from the top to the bottom of the page."""
        top = area("wb-top", [self.bar, area("wb-actions", [self.status, self.controls])])
        further = area("wb-side wb-side-end", [self.comparison_form, self._recorded.field])
        sides = area("wb-side", [self.trainer.engines]), further
        compare = area("wb-columns", [*sides, area("wb-main", [self.comparison])])
        self.comparison_step = area("wb-step-panel wb-step-compare", [compare])
        self.runs_step = area("wb-step-panel wb-step-runs", [self.runs])
        steps = [self.models, self.artifacts, self.trainer, self.comparison_step, self.runs_step]
        return [top, self.offers, self.code, area("wb-steps", steps), self._figure]

    def _follow_changes(self) -> None:
        """Show what changes in the controller, in the forms and in the list of runs."""
        status, bar = StatusView(self.status, self.controls), BarView(self.bar, self.offers)
        self._list_pace.refresh = self.runs.refresh
        for view in (self._steps, status, bar, self._page_view, self._list_pace, self._filler):
            self._controller.views.add(view)
        self._controller.typed.observe(self._on_form)
        self._controller.tasks.observe(self._show_code)
        self.trainer.engines.observe(self._on_form, "value")
        self.runs.observe(self._show_code, "code")
        self.models.layers.lead_to_graphs(self._show_graphs)
        # It assigns to no name that there is by then.
        after_each_cell(self, Workbench._show_code)
        self.comparison.ratios.observe(self._page_view.show_summary, ["summary", "verdict"])
        self._show_what_trains()

    @classmethod
    def from_run(cls, run: Run | str, engines: Sequence[str] | None = None) -> Workbench:
        """The app with the settings of a recorded run, showing that run.

        Args:
            run: a `Run` or its id.
            engines: see the app.

        Raises:
            RunFolderError: there is no such run, or it cannot be read.
        """
        found = run if isinstance(run, Run) else load_run(run)
        page = cls(None, engines)
        page.restore(found)
        return page

    def restore(self, run: Run) -> None:
        """Restore the model, data and settings that a run was started with, and show the run.

        Raises:
            RunError: another job is in progress here.
        """
        if self._controller.state.active:
            raise RunError(IN_PROGRESS)
        self._filler.fill(run)
        self.bar.selected = "train"
        self.show(run)

    @property
    def engines(self) -> EngineChoice:
        """The choice of engines to train and compare."""
        return self.trainer.engines

    @property
    def step(self) -> str:
        """Name of the shown step: "model", "artifacts", "train", "compare" or "runs"."""
        return str(self.bar.selected)

    @step.setter
    def step(self, name: str) -> None:
        if name not in NAMES:
            raise ValueError(f"step={name!r}: there are {', '.join(NAMES)}.")
        self.bar.selected = name

    def set(self, **settings: Any) -> None:
        """Set settings as for `train`, as if they had been typed; None: the default."""
        self._controller.typed.set(**settings)

    def train(self) -> None:
        """Train the chosen model with each chosen engine, one after another."""
        self._controller.train()

    def compare(self) -> None:
        """Compare the chosen engines on the chosen model, in lockstep."""
        self._controller.compare()

    def show(self, job: Run | Comparison | RunComparison) -> None:
        """Follow a run or a comparison that was started, or has ended, elsewhere."""
        self._recorded.show(job)

    def pause(self) -> None:
        """Pause before the next step, or the next burst of a comparison."""
        self._controller.pause()

    def resume(self) -> None:
        """Resume after a pause."""
        self._controller.resume()

    def step_once(self) -> None:
        """Take one step of a paused run and pause again."""
        self._controller.step_once()

    def stop(self) -> None:
        """Stop before the next step. Checkpoint and summary are kept."""
        self._controller.stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is in progress; False on a timeout."""
        return self._controller.wait(timeout)

    def close(self) -> None:
        """Close the page and end its threads; jobs in progress continue."""
        super().close()
        for part in vars(self).values():  # of a page that could not be made, parts are in no box
            if hasattr(part, "close"):
                part.close()

    def _runs_changed(self, changes: Changes) -> None:
        if self.offers.offers:  # they have gone on, or ended
            self._controller.list_offers()
        result = self._page_view.result
        resumed = self._page_view.were_resumed(changes.rows)
        if (self._page_view.were_deleted(changes.removed) or resumed) and result is not None:
            self._controller.forget_outcome(result.message)
            self._steps.forget_ended()
        if self._page_view.were_restored([row.id for row in changes.rows]) and result is not None:
            self._controller.bring_back(result)
            self._steps.bring_back_ended()
        self._recorded.follow(changes)
        self.trainer.follow(changes, resumed)

    def _personalise(self, run: Run) -> None:
        if (name := run.spec["model"]) != self._controller.setup.model:
            self.models.choose(name)
        self.bar.selected = "train"
        self.trainer.own_examples.begin_with(run)

    def _show_graphs(self) -> None:
        self.bar.selected = "artifacts"
        self.artifacts.show_graphs()

    def _on_form(self, _: Any = None) -> None:
        if self.step == "compare":  # where the next comparison is set up
            self._forget_recorded()
        else:
            self._show_what_trains()

    def _forget_recorded(self) -> None:
        self._code.recorded = ""
        self._show_what_trains()

    def _show_what_trains(self) -> None:
        self.controls.update_for(self._controller.setup)
        self._steps.update()
        self._show_code()

    def _show_code(self, _: Any = None) -> None:
        self._code.update()

    def _ipython_display_(self, **_: Any) -> None:
        from IPython.display import display

        display({**self._repr_mimebundle_(), "text/plain": PLAIN_TEXT}, raw=True)  # type: ignore[no-untyped-call]
        self._figure.display()

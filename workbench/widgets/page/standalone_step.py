"""The base class of steps of the app that can also be used alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets

from workbench.controller import Controller, Setup
from workbench.controller.code.page_code import code_for
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.sources import model_or_name
from workbench.controller.readiness import CHOOSE
from workbench.controller.view import View
from workbench.errors import ModelError
from workbench.models import Model
from workbench.widgets.page.after_cells import after_each_cell
from workbench.widgets.page.boxes import Area, area
from workbench.widgets.page.code_panel import CodePanel
from workbench.widgets.page.controls import Controls
from workbench.widgets.page.shown_alone import ShownAlone
from workbench.widgets.page.status import Status
from workbench.widgets.page.status_view import StatusView
from workbench.widgets.subshell import answer_while_busy


class StandaloneStep(ShownAlone, Area):
    """A box that is a part of an app, or a page with its own controller, status and buttons.

    A subclass calls `_begin` first, then creates its widgets, then calls `_ready`.
    """

    controller: Controller
    status: Status | None = None
    controls: Controls | None = None
    code: CodePanel | None = None
    step = ""
    """Its name in the app."""
    dataset_remedy = ""
    """What to do about a dataset that is missing, where the step is used alone; empty: it needs
    none."""
    has_model_fields = False
    """Whether it has the fields Model and Example input."""

    def _begin(
        self, controller: Controller | None, actions: tuple[str, ...] = ()
    ) -> list[ipywidgets.DOMWidget]:
        """Use the controller of the app, or create one; returns the widgets above the step."""
        self._is_alone = controller is None
        self.controller = Controller(View(), Setup()) if controller is None else controller
        if not self._is_alone:
            return []
        if not self.has_model_fields:
            give = f"Give a model, as in wb.{type(self).__name__}(model)."
            self.controller.readiness.choose = CHOOSE._replace(message=give)
        self.status = Status(message=self.controller.readiness.choose.message)
        self.controls = Controls(
            {name: each for name, each in actions_of(self.controller).items() if name in actions}
        )
        self.controller.typed.names_steps = False
        self.controller.readiness.hint = "Press Train." if "Train" in actions else ""
        self.controller.readiness.dataset_remedy = self.dataset_remedy
        self.controller.sources.examples_have_field = self.has_model_fields
        self.controller.views.add(
            StatusView(self.status, self.controls, dataset_remedy=self.dataset_remedy)
        )
        self.code = CodePanel(step=self.step)
        self.controller.views.add(_CodeView(self._show_code))
        self.controller.typed.observe(self._show_code)
        self.controller.tasks.observe(self._show_code)
        return [area("wb-top", [area("wb-actions", [self.status, self.controls])]), self.code]

    def _show_code(self) -> None:
        if self.code is not None:
            self.code.code = {self.step: code_for(self.controller.setup, self.step)}

    def _ready(self, model: Any) -> None:
        """Lay out and, if used alone, choose the model."""
        if self._is_alone:
            self.add_class("wb-page")
            self.add_class("wb-alone")
            answer_while_busy(self)
            assert self.code is not None
            self._show_code()
            # It assigns to no name that there is by then.
            after_each_cell(self, type(self)._show_code)
            if model is not None:
                try:
                    self.choose(model)
                except ModelError:
                    self.close()
                    raise
        else:
            self.add_class("wb-step")

    @property
    def _keeper(self) -> CodePanel | None:
        return self.code

    def choose(self, model: Any) -> None:
        """Choose a model as if its name had been typed.

        Args:
            model: a `Model`, a text as typed, or an object that has a name in the notebook.

        Raises:
            ModelError: it is an object that a page cannot choose.
        """
        self.controller.choose_model(model_or_name(model))

    def close(self) -> None:
        """Close the step and, if used alone, end its threads."""
        if self._is_alone:
            self.controller.close()
        super().close()

    @property
    def setup(self) -> Setup:
        """Settings that jobs are started with."""
        return self.controller.setup


class _CodeView(View):
    """Shows the code again where the choice of a model or of data has changed."""

    def __init__(self, show_code: Callable[[], None]) -> None:
        self._show_code = show_code

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._show_code()

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        self._show_code()


def actions_of(controller: Controller) -> dict[str, Callable[[], Any]]:
    """The action of each button, by its name."""
    return {
        "Train": controller.train,
        "Compare": controller.compare,
        "Pause": controller.pause,
        "Resume": controller.resume,
        "Step once": controller.step_once,
        "Stop": controller.stop,
    }

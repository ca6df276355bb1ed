"""Shows the state of the controller in the status and the buttons of a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from workbench.controller import State
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.inspection import LayerRow
from workbench.controller.readiness import CHOOSE_DATASET, no_dataset
from workbench.controller.view import View
from workbench.models import Model
from workbench.widgets.page.controls import Controls
from workbench.widgets.page.status import Status

DETAIL_S = 0.25
"""Least seconds between two texts that differ in their numbers alone, such as the step: each costs
the browser a layout of the page, which training then has not."""


class StatusView(View):
    """Status and buttons. Its methods may be called from any thread."""

    def __init__(
        self,
        status: Status,
        controls: Controls | None = None,
        clock: Callable[[], float] = time.monotonic,
        dataset_remedy: str = CHOOSE_DATASET,
    ) -> None:
        self._status = status
        self._controls = controls
        self._clock = clock
        self._dataset_remedy = dataset_remedy
        self._model: Model | None = None
        self._shown: tuple[object, ...] = ()
        self._detail_after = 0.0

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._model = model
        self._refuse_model(problem)

    def show_layers(
        self,
        rows: Sequence[LayerRow] | None,
        *,
        loading: bool = False,
    ) -> None:
        if loading:
            self._refuse_model("")
            self._refuse_data("")

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        if preview is not None:
            self._refuse_data(problem)  # why it does not fit the model
        elif problem:
            self._refuse_data(f"The dataset cannot be loaded: {problem}")
        else:
            model, remedy = self._model, self._dataset_remedy
            self._refuse_data("" if model is None else no_dataset(model, remedy))

    def _refuse_model(self, problem: str) -> None:
        if self._controls is not None:
            self._controls.refuse_model(problem)

    def _refuse_data(self, problem: str) -> None:
        if self._controls is not None:
            self._controls.refuse_data(problem)

    def show_state(self, state: State) -> None:
        if self._controls is not None:
            self._controls.show(
                state.status,
                compares=state.compares,
                stoppable=state.stoppable,
                prepares=state.prepares,
            )
        # The first step and the last are shown at once: the charts show them.
        steps = state.progress > 0, state.progress >= 1
        shown = (state.status, state.level, state.message, *steps)
        if shown == self._shown and state.active and self._clock() < self._detail_after:
            return  # the next state of the same job follows within its interval of polls
        self._shown = shown
        self._detail_after = self._clock() + DETAIL_S
        self._status.show(state.level, state.message, state.detail, state.progress, state.left_s)

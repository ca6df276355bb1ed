"""Shows the state of the controller in the status and the buttons of a page."""

from __future__ import annotations

from workbench.controller import State
from workbench.controller.view import View
from workbench.widgets.page.controls import Controls
from workbench.widgets.page.status import Status


class StatusView(View):
    """Status and buttons. Its methods may be called from any thread."""

    def __init__(self, status: Status, controls: Controls | None = None) -> None:
        self._status = status
        self._controls = controls

    def show_state(self, state: State) -> None:
        if self._controls is not None:
            self._controls.show(state.status, compares=state.compares)
        self._status.show(state.level, state.message, state.detail, state.progress, state.left_s)

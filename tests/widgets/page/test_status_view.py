"""The status while a job is in progress: few messages, and none of them late that matters."""

from __future__ import annotations

from workbench.controller import Setup, State
from workbench.controller.model.data_preview import data_preview
from workbench.data import Dataset
from workbench.widgets.page.controls import Controls
from workbench.widgets.page.status import Status
from workbench.widgets.page.status_view import DETAIL_S, StatusView


def test_numbers_alone_are_shown_a_few_times_a_second_and_all_else_at_once() -> None:
    now = 0.0
    status = Status()
    view = StatusView(status, clock=lambda: now)
    running = State("running", "busy", "Training m on pytorch.", "step 1 of 9", 0.1)
    view.show_state(running._replace(detail="3 s", progress=0.0))
    view.show_state(running)
    assert status.detail == "step 1 of 9"
    view.show_state(running._replace(detail="step 2 of 9"))
    assert status.detail == "step 1 of 9"
    now += DETAIL_S
    view.show_state(running._replace(detail="step 3 of 9"))
    assert status.detail == "step 3 of 9"
    view.show_state(running._replace(detail="step 9 of 9", progress=1.0))
    assert status.detail == "step 9 of 9"
    view.show_state(State("paused", "paused", "Paused m on pytorch.", "step 4 of 9", 0.4))
    assert (status.level, status.detail) == ("paused", "step 4 of 9")
    view.show_state(State("idle", "done", "Trained m.", "3 s"))
    view.show_state(State("idle", "done", "Trained m.", "4 s"))
    assert status.detail == "4 s"


def test_nothing_starts_on_a_dataset_that_does_not_fit(digits: Dataset) -> None:
    controls = Controls({"Train": lambda: None, "Compare": lambda: None})
    controls.update_for(Setup(model="digits-mlp"))
    view = StatusView(Status(), controls)
    view.show_data(data_preview(digits), "The model reads 5 columns.")
    assert not controls.usable()
    [hint, _] = [button["hint"] for button in controls.buttons]
    assert hint == "The model reads 5 columns."
    view.show_data(data_preview(digits))
    assert controls.usable() == ["Train", "Compare"]

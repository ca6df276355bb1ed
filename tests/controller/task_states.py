"""Tasks of a page: a chosen model, and the state after a task."""

from __future__ import annotations

from tests.controller.recording_view import until
from workbench.controller import Controller
from workbench.controller.tasks.task import (
    TaskState,
)


def choose(page: Controller, model: str = "digits-mlp") -> None:
    page.choose_model(model)
    until(lambda: not page.tasks.state("verify").refusal)


def done(page: Controller, name: str) -> TaskState:
    until(lambda: not page.tasks.state(name).doing)
    return page.tasks.state(name)

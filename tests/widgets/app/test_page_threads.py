"""The page without a browser: its threads and timers."""

from __future__ import annotations

import threading

import pytest

from tests.controller.recording_view import PATIENCE_S, until
from tests.processes import own_threads
from tests.widgets.app.conftest import MakePage
from workbench.widgets import Workbench
from workbench.widgets.app import workbench as app
from workbench.widgets.artifacts import artifact_builder


@pytest.mark.fault
def test_a_page_that_could_not_be_made_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {thread.ident for thread in threading.enumerate()}

    def fail(*_: object) -> None:
        raise ValueError("on purpose")

    monkeypatch.setattr(app, "MachineWatch", fail)
    with pytest.raises(ValueError, match="on purpose") as failed:
        Workbench(engines=["fake"])
    until(lambda: {each.ident for each in threading.enumerate()} <= before)
    # Up to here the traceback holds the page, as the comms of a kernel do: it was not collected.
    assert failed.tb


def test_close_ends_its_threads(make_page: MakePage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifact_builder, "TYPING_S", 3600)
    before = own_threads()
    page = make_page()
    until(lambda: page.models.layers.layers)
    for charts in (page.trainer.charts, page.comparison.charts):
        charts._on_message(None, {"kind": "export", "format": "csv", "id": "1"}, None)
    page.artifacts._shown = {}  # as if there were artifacts, of other settings
    page.set(batch_size=16)
    own = own_threads() - before
    names = {thread.name for thread in own}
    assert {"charts-export", "workbench-page", "comparison-view"} <= names
    assert any(isinstance(thread, threading.Timer) for thread in own)
    page.close()
    until(lambda: not own_threads() - before)


def test_typed_settings_generate_artifacts_once_and_not_during_a_job(
    make_page: MakePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = make_page(step_ms=5)
    until(lambda: page.models.layers.layers)
    until(lambda: page.models.data.counts)  # which tells of settings too, from its own thread
    asked: list[object] = []
    setup = page._controller.setup
    monkeypatch.setattr(
        page._controller, "predict", lambda: asked.append(setup.settings["batch_size"])
    )
    page.set(batch_size=1)
    page.artifacts.generate()
    assert asked == [1]
    monkeypatch.setattr(artifact_builder, "TYPING_S", 3600)
    page.set(batch_size=16)
    first = page.artifacts._again
    assert first is not None
    assert page.artifacts.footprint.outdated
    monkeypatch.setattr(artifact_builder, "TYPING_S", 0.01)
    page.set(batch_size=164)
    until(lambda: len(asked) > 1)
    first.join(PATIENCE_S)
    assert not first.is_alive()
    assert asked == [1, 164]
    page.set(steps=100_000)
    page.train()
    until(lambda: page._controller.state.active)
    page.set(batch_size=32)
    typed = page.artifacts._again
    assert typed is not None
    typed.join(PATIENCE_S)
    assert asked == [1, 164], "exports beside a job"
    assert page.artifacts.footprint.outdated

"""The loader of the chosen model: a check that nobody waits for ends."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from tests.controller.recording_view import PATIENCE_S, RecordingView, until
from workbench.check import Check
from workbench.child_process.cancellation import CancelledError, check_cancelled
from workbench.controller.background.model_loader import ModelLoader
from workbench.controller.forms.loss_suggestion import LossSuggestion
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.model.sources import Sources
from workbench.controller.setup import Setup
from workbench.models import Model


@pytest.mark.parametrize("end", ["another model", "none", "closed"])
def test_a_check_ends_with_another_choice(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    began, cancelled = threading.Event(), threading.Event()
    errors: list[Exception] = []

    def check(model: Model) -> Check:
        """Takes as long for one of the models as the export of a large one."""
        if model.name != "digits-mlp":
            return Check(model.name, ())
        began.set()
        try:
            for _ in range(int(PATIENCE_S / 0.01)):
                check_cancelled()
                time.sleep(0.01)
        except CancelledError:
            cancelled.set()
            raise
        return Check(model.name, ())

    monkeypatch.setattr(sys.modules["workbench.check"], "check", check)
    view = RecordingView()
    loader = ModelLoader(
        view,
        Sources(dict),
        lambda _: "cross_entropy",
        LossSuggestion(TypedSettings(Setup())),
        lambda _: None,
        errors.append,
    )
    loader.choose("digits-mlp")
    until(began.is_set)
    until(lambda: view.verdict == "Checking what ONNX Runtime can train …")
    if end == "closed":
        loader.close()
    else:
        loader.choose("digits-cnn" if end == "another model" else "")
    until(cancelled.is_set)
    loader.close()
    assert not errors


def test_a_model_that_is_still_loaded_is_not_checked_after_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked: list[str] = []

    def check(model: Model) -> Check:
        checked.append(model.name)
        return Check(model.name, ())

    monkeypatch.setattr(sys.modules["workbench.check"], "check", check)
    may_load, loaded = threading.Event(), threading.Event()
    sources = Sources(dict)
    load = sources.model

    def slow(source: str, example_inputs: str = "") -> Model:
        assert may_load.wait(PATIENCE_S)
        try:
            return load(source, example_inputs)
        finally:
            loaded.set()

    monkeypatch.setattr(sources, "model", slow)
    loader = ModelLoader(
        RecordingView(),
        sources,
        lambda _: "cross_entropy",
        LossSuggestion(TypedSettings(Setup())),
        lambda _: None,
        lambda _: None,
    )
    loader.choose("digits-mlp")
    loader.close()
    may_load.set()
    assert loaded.wait(PATIENCE_S)
    time.sleep(0.5)
    assert checked == []

"""A module of the notebook that has changed is read again, and shown as it is now."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.controller.recording_view import PATIENCE_S, RecordingView, until
from workbench.controller.background.model_loader import ModelLoader
from workbench.controller.forms.loss_suggestion import LossSuggestion
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.model.module_stamp import ModuleStamp, stamp_of
from workbench.controller.model.sources import Sources
from workbench.controller.setup import Setup


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))


def fill(module: Any) -> None:
    with torch.no_grad():
        module[0].weight.fill_(3.0)


def replace_layer(module: Any) -> None:
    module[2] = nn.Linear(3, 5)


def step(module: Any) -> None:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    module(torch.ones(2, 4)).sum().backward()
    optimizer.step()


def count_batches(module: Any) -> None:
    module[1].num_batches_tracked.add_(1)


@pytest.mark.parametrize("change", [fill, replace_layer, step, count_batches])
def test_a_stamp_tells_a_changed_module(change: Any) -> None:
    module = net()
    before = ModuleStamp(module)
    assert before.matches(ModuleStamp(module))
    module.eval()
    assert before.matches(ModuleStamp(module))
    change(module)
    assert not before.matches(ModuleStamp(module))


def test_a_stamp_keeps_nothing_alive_and_does_not_match_its_successor() -> None:
    module = net()
    stamp, alive = ModuleStamp(module), weakref.ref(module)
    del module
    gc.collect()
    assert alive() is None
    assert not stamp.matches(ModuleStamp(net()))  # perhaps at the same address
    assert stamp_of(np.ones(3)) is None


def test_what_is_changed_in_the_notebook_is_trained_and_shown() -> None:
    names: dict[str, Any] = {"net": net(), "x": np.ones((2, 4), np.float32)}
    view = RecordingView()
    errors: list[Exception] = []
    loader = ModelLoader(
        view,
        Sources(lambda: names),
        lambda _: "mse",
        LossSuggestion(TypedSettings(Setup())),
        lambda _: None,
        errors.append,
    )
    try:
        loader.choose("net", "x")
        until(lambda: view.layers is not None and len(view.layers) == 3)
        first = loader.loading("net", "x")()
        assert first is not None
        assert loader.loading("net", "x")() is first, "unchanged, it is at hand"
        fill(names["net"])
        filled = loader.loading("net", "x")()
        assert filled is not None
        assert (filled.weights()["0.weight"] == 3.0).all()
        assert not (first.weights()["0.weight"] == 3.0).any()
        until(lambda: view.models[-1] is filled)
        names["net"] = nn.Sequential(nn.Linear(4, 2))
        again = loader.loading("net", "x")()
        assert again is not None
        assert again.parameter_shapes == {"0.weight": (2, 4), "0.bias": (2,)}
        until(lambda: view.layers is not None and len(view.layers) == 1)
        del names["net"]
        assert loader.loading("net", "x")() is again, "what was loaded is still there"
        assert loader._thread.wait(PATIENCE_S)
    finally:
        loader.close()
    assert not errors

"""The view of the statistics of layers, by engine."""

from __future__ import annotations

import numpy as np

from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.setup import Setup
from workbench.widgets.train.layer_statistics_view import LayerStatisticsView


def test_evaluations_and_layers_of_several_engines_are_kept_apart() -> None:
    view = LayerStatisticsView(TypedSettings(Setup()))
    names = {"event": "layers", "names": ["a", "b"]}
    step = {"event": "layer_statistics", "step": 5, "update_ratios": [0.5, None]}
    view.add("one", [names, {**step, "gradient_norms": [1.0, 2.0]}])
    view.add("two", [])
    assert view.engines == [], "nothing is sent before it is asked for"
    view.flush()
    [shown] = view.engines
    assert (shown["engine"], shown["layers"], shown["steps"]) == ("one", ["a", "b"], [5])
    values = np.frombuffer(shown["values"], np.float32)
    np.testing.assert_array_equal(values, [1.0, 2.0, 0.5, np.nan])
    view.add("one", [], restored_step=4)
    view.flush()
    assert view.engines == []
    view.clear()
    view.add("one", [names, {**step, "gradient_norms": [1e300, 0.0]}])
    view.flush()
    assert np.frombuffer(view.engines[0]["values"], np.float32)[0] == np.inf


def test_recording_is_switched_on_and_off_by_a_message() -> None:
    typed = TypedSettings(Setup())
    view = LayerStatisticsView(typed)
    assert view.every == 0
    view._on_message(view, {"kind": "record", "on": True}, [])
    assert (view.every, typed.read.settings) == (10, {"layer_statistics_every": 10})
    for text, every in (("3", 3), ("abc", 0), ("0", 0)):
        typed.type("layer_statistics_every", text)
        assert view.every == every, "as far as it is a setting"
    view._on_message(view, {"kind": "record", "on": False}, [])
    assert (view.every, typed.texts.get("layer_statistics_every", "")) == (0, "")
    view._on_message(view, {"kind": "unknown"}, [])
    assert view.every == 0

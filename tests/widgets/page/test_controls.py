"""The buttons that control a run."""

from __future__ import annotations

import pytest

from workbench.controller import Setup
from workbench.widgets.page.controls import NAMES, Controls


@pytest.mark.parametrize(
    ("status", "usable"),
    [
        ("idle", {"Train", "Compare"}),
        ("starting", {"Pause", "Stop"}),  # before the first step
        ("running", {"Pause", "Stop"}),
        ("paused", {"Resume", "Step once", "Stop"}),
        ("completed", {"Train", "Compare"}),
        ("failed", {"Train", "Compare"}),
    ],
)
def test_only_buttons_that_make_sense_can_be_pressed(status: str, usable: set[str]) -> None:
    pressed: list[str] = []
    controls = Controls({name: (lambda name=name: pressed.append(name)) for name in NAMES})
    controls.update_for(Setup(model="digits-mlp"))
    controls.show(status)
    assert set(controls.usable()) == usable
    controls.show(status, prepares=True)  # there is no run yet
    assert set(controls.usable()) == usable - {"Pause"}
    controls.show(status)
    for name in NAMES:
        controls._handle_custom_msg({"kind": "press", "name": name}, [])
    assert set(pressed) == usable


def test_stop_ends_also_what_is_no_job() -> None:
    controls = Controls({"Train": lambda: None, "Stop": lambda: None})
    controls.show("idle", stoppable=True)
    assert controls.usable() == ["Stop"]
    assert controls.buttons[1]["hint"] == "Stop the artifacts or the profile"
    controls.refuse_model("")
    assert controls.usable() == ["Stop"]
    controls.show("idle")
    assert controls.usable() == []


def test_train_names_its_model_and_dataset() -> None:
    controls = Controls({"Train": lambda: None, "Compare": lambda: None})
    train, compare = controls.buttons
    assert (train["label"], compare["label"]) == ("Train", "Compare")
    assert (train["hint"], compare["hint"]) == ("Choose a model first.",) * 2
    assert not controls.usable()
    setup = Setup(engines=["ondevice"])
    controls.update_for(setup)
    assert controls.buttons[0]["label"] == "Train on ondevice"
    setup.model = "digits-mlp"
    controls.show("idle")
    assert controls.usable() == ["Train", "Compare"]
    controls.show("running")
    controls.update_for(Setup("digits-mlp", engines=["pytorch", "ondevice", "ortmodule"]))
    [train, _] = controls.buttons
    assert train["label"] == "Train on 3 engines in turn"
    assert train["hint"] == "3 runs, one after another: pytorch, then ondevice, then ortmodule"
    assert not train["enabled"], "what is in progress stays known"
    for federation, label in (
        ({}, "Train on 8 clients"),
        ({"clients": 1}, "Train on 1 client"),
        ({"clients": "many"}, "Train on clients"),
        ({"split": "groups"}, "Train on clients"),
    ):
        controls.update_for(Setup("digits-mlp", engines=["pytorch"], federation=federation))
        assert controls.buttons[0]["label"] == label

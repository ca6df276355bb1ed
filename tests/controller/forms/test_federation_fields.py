"""Federated training by the form: what is typed, what is started, and what is written as code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.controller.recording_view import RecordingView, until
from tests.runs.recorded import recorded
from workbench.controller import Controller, Setup
from workbench.controller.code.page_code import code_for
from workbench.controller.forms.federation_fields import federate_settings, form_of
from workbench.controller.forms.setting_texts import read_texts, write_texts
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.jobs import start
from workbench.controller.restore import restored
from workbench.data import Dataset
from workbench.errors import ConfigError, RunError
from workbench.load import load_dataset
from workbench.runs import load_run
from workbench.settings.federation import FederationOptions

TYPED = {
    "federation": "yes",
    "federation.clients": "4",
    "federation.rounds": "3",
    "federation.strategy": "fedprox",
    "federation.strategy_options": "proximal_mu=0.1",
    "federation.split": "dirichlet",
    "federation.alpha": "0.5",
    "federation.devices": "phone, browser",
    "federation.privacy": "local",
    "federation.secure_aggregation": "yes",
}
FORM = {
    "clients": 4,
    "rounds": 3,
    "strategy": "fedprox",
    "strategy_options": {"proximal_mu": 0.1},
    "split": "dirichlet",
    "alpha": 0.5,
    "devices": ("phone", "browser"),
    "privacy": "local",
    "secure_aggregation": True,
}


def test_typed_values_are_read_and_written_back() -> None:
    read = read_texts({**TYPED, "learning_rate": "0.01"})
    assert read.problems == {}
    assert read.settings == {"learning_rate": 0.01}
    assert read.further == {"federation": FORM}
    assert write_texts({"federation": FORM}) == TYPED
    off = read_texts({**TYPED, "federation": "no"})
    assert (off.settings, off.further) == ({}, {})


@pytest.mark.fault
@pytest.mark.parametrize(
    ("typed", "name", "words"),
    [
        ({"federation.clients": "0"}, "federation.clients", "1 or more"),
        ({"federation.clients": "many"}, "federation.clients", "is not an integer"),
        ({"federation.clients": "2"}, "federation.clients", "secure aggregation needs 3"),
        ({"federation.alpha": "0"}, "federation.alpha", "more than 0"),
        ({"federation.strategy_options": "mu"}, "federation.strategy_options", "proximal_mu=0.1"),
        ({"federation.strategy_options": "eta=1"}, "federation.strategy_options", "'eta' is not"),
        ({"federation.devices": "fone"}, "federation.devices", "Did you mean 'phone'"),
        ({"epochs": "6"}, "epochs", "counts rounds: set Local epochs"),
        ({"base_except": "head"}, "base_except", "all of the initial weights"),
    ],
)
def test_a_problem_is_shown_at_its_field(typed: dict[str, str], name: str, words: str) -> None:
    problems = read_texts({**TYPED, **typed}).problems
    assert list(problems) == [name]
    assert re.search(words, problems[name], re.IGNORECASE), problems[name]


@pytest.mark.fault
def test_a_wrong_form_is_refused_with_every_problem() -> None:
    with pytest.raises(ConfigError, match=r"(?s)rounds=0.*split='dirichle'") as caught:
        federate_settings({"rounds": 0, "split": "dirichle"})
    assert len(caught.value.problems) == 2


def test_the_code_has_the_arguments_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code is executed with a `federate` that only notes what it is given."""
    given: list[Any] = []

    def note(*args: Any, **settings: Any) -> Any:
        settings["split"] = settings["split"].name
        given.append((args[0].name, settings))
        raise RunError("Noted.")

    setup = Setup(model="digits-mlp", engines=["pytorch", "ortmodule"])
    typed = TypedSettings(setup)
    for name, text in {**TYPED, "learning_rate": "0.01", "detached": "yes"}.items():
        typed.type(name, text)
    code = code_for(setup, "train", {})
    assert "split=wb.federated.dirichlet(0.5)" in code
    monkeypatch.setattr(wb, "federate", note)
    with pytest.raises(RunError):
        exec(code, {})

    monkeypatch.setattr(start, "federate", note)
    page = Controller(RecordingView(), setup)
    try:
        page.choose_model("digits-mlp")
        page.train()
        until(lambda: len(given) == 2)
        page.wait()
    finally:
        page.close()
    assert given[0] == given[1]
    settings = given[0][1]
    assert (settings["clients"], settings["split"]) == (4, "dirichlet(0.5)")
    assert (settings["learning_rate"], settings["detached"]) == (0.01, True)


def test_a_recorded_run_fills_the_form(digits: Dataset) -> None:
    folder = recorded(digits, "ondevice")
    options = FederationOptions(clients=2, rounds=3, devices=("phone",), noise_multiplier=0.5)
    record = {"options": options.model_dump(), "split": "quantity(0.2)"}
    record |= {"clients": [], "parameters": [], "deployed": False}
    folder.write_spec({**folder.read_spec(), "federation": record})
    found = restored(load_run(folder.id)).settings["federation"]
    assert found == {
        "clients": 2,
        "rounds": 3,
        "devices": ("phone",),
        "noise_multiplier": 0.5,
        "split": "quantity",
        "alpha": 0.2,
    }
    assert read_texts(write_texts({"federation": found})).problems == {}
    assert form_of(FederationOptions(), "iid") == {}


def test_a_run_by_groups_is_restored_with_its_column(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a,user,kind\n" + "1,x,0\n2,y,1\n" * 5, encoding="utf-8")
    folder = recorded(load_dataset(path, "kind", groups="user"), "ondevice")
    record = {"options": FederationOptions(clients=2).model_dump(), "split": "groups"}
    record |= {"clients": [], "parameters": [], "deployed": False}
    folder.write_spec({**folder.read_spec(), "federation": record})
    found = restored(load_run(folder.id))
    assert (found.target, found.groups) == ("kind", "user")
    form = found.settings["federation"]
    assert form == {"clients": 2, "split": "groups"}
    assert read_texts(write_texts({"federation": form})).problems == {}
    assert federate_settings(form)["split"].name == "groups"
    setup = Setup(model="m.onnx", dataset="p.csv", target="kind", groups="user", federation=form)
    code = code_for(setup, "train", {})
    assert "wb.load_dataset('p.csv', 'kind', groups='user')" in code
    assert "split=wb.federated.groups()" in code

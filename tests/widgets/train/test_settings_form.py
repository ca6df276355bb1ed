"""The form of settings: what is typed stays, and is checked while it is typed."""

from __future__ import annotations

from functools import partial

import pytest

from workbench.controller import Setup
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.setup import COMPARISON_STEPS
from workbench.widgets.train.settings_form import SettingsForm


def typed_form() -> tuple[Setup, TypedSettings, SettingsForm]:
    setup = Setup()
    typed = TypedSettings(setup)
    return setup, typed, SettingsForm(typed)


def type_into(form: SettingsForm, name: str, text: str) -> None:
    """As the browser tells it."""
    form._handle_custom_msg({"kind": "type", "name": name, "text": text}, [])


def test_typed_settings_stay_when_another_model_is_chosen() -> None:
    setup, typed, form = typed_form()
    type_into(form, "learning_rate", "1e-2")
    type_into(form, "loss", "mse")
    typed.set_defaults({"epochs": 20, "learning_rate": 0.5})
    assert setup.settings == {"learning_rate": 0.01, "loss": "mse"}
    shown = {field["name"]: field for group in form.groups for field in group["fields"]}
    assert (shown["epochs"]["default"], shown["learning_rate"]["default"]) == ("20", "0.5")
    type_into(form, "learning_rate", "  ")
    assert setup.settings == {"loss": "mse"}
    assert form.texts == {"loss": "mse"}


@pytest.mark.fault
def test_a_wrong_value_is_shown_at_its_field_while_it_is_typed() -> None:
    setup, _, form = typed_form()
    type_into(form, "epochs", "-1")
    type_into(form, "batch_size", "many")
    assert form.problems == {
        "epochs": "Must be 1 or more.",
        "batch_size": "'many' is not an integer, such as 20.",
    }
    assert setup.settings == {"epochs": -1, "batch_size": "many"}
    type_into(form, "epochs", "3")
    type_into(form, "batch_size", "")
    assert form.problems == {}


def test_a_loss_of_log_probabilities_says_so() -> None:
    _, _, form = typed_form()
    assert remark_of(form, "loss") == ""
    type_into(form, "loss", "nll")
    assert remark_of(form, "loss").startswith("For log-probabilities, ")
    type_into(form, "loss", "cross_entropy")
    assert remark_of(form, "loss") == ""


def remark_of(form: SettingsForm, name: str) -> str:
    fields = [field for group in form.groups for field in group["fields"]]
    return str(next(field["remark"] for field in fields if field["name"] == name))


def test_a_part_that_is_typed_while_its_switch_is_off_says_so() -> None:
    setup, _, form = typed_form()
    remark = partial(remark_of, form)
    assert remark("lora.rank") == ""
    type_into(form, "lora.rank", "4")
    assert remark("lora.rank") == "Not used while LoRA is no."
    assert setup.settings == {}
    type_into(form, "lora", "yes")
    assert remark("lora.rank") == ""
    type_into(form, "epochs", "40")
    assert remark("epochs") == ""
    type_into(form, "steps", "2400")
    assert (remark("epochs"), remark("steps")) == ("Not used: Steps are given.", "")
    type_into(form, "steps", "many")
    assert remark("epochs") == "", "there is no number of steps in their place"


def test_arguments_of_a_comparison_are_typed_too() -> None:
    setup, typed, _ = typed_form()
    typed.set(comparison_steps=70, quiet_s=2.5)
    assert (setup.comparison_steps, setup.quiet_s) == (70, 2.5)
    typed.set(comparison_steps=None)
    assert setup.comparison_steps == COMPARISON_STEPS

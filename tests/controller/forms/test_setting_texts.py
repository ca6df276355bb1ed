"""Texts typed into the form: every setting can be reached, read and written back."""

from __future__ import annotations

import re

import pytest

from workbench.controller.forms.federation_fields import FederationForm
from workbench.controller.forms.setting_fields import field_groups
from workbench.controller.forms.setting_texts import FIELDS, read_texts, write_texts
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.setup import Setup
from workbench.errors import ConfigError
from workbench.settings.config import TrainingConfig
from workbench.settings.device import Device
from workbench.settings.lora import LoraOptions

ELSEWHERE = {"engine", "ortmodule"}
"""Chosen by the list of engines, and by the form of ORTModule."""


def test_every_setting_has_one_field() -> None:
    names = [field.name for group in field_groups() for field in group.fields]
    assert len(names) == len(set(names))
    inner = {f"lora.{name}" for name in LoraOptions.model_fields}
    inner |= {f"device.{name}" for name in Device.model_fields if name != "name"}
    # How many processes clients run in is given where those of a training are.
    inner |= {f"federation.{name}" for name in FederationForm.model_fields if name != "processes"}
    settings = set(TrainingConfig.model_fields) - ELSEWHERE
    assert set(names) == settings | inner | {"base", "base_except", "detached", "federation"}
    for name in names:
        assert FIELDS[name].label
        assert FIELDS[name].description
        assert "None" not in FIELDS[name].description, "that is what the empty field says"


def test_written_settings_are_read_back() -> None:
    settings = {
        "epochs": 3,
        "learning_rate": 0.01,
        "lr_schedule": "cosine",
        "max_grad_norm": 1.5,
        "evaluate": False,
        "requires_grad": ("head.*", "body.0.bias"),
        "lora": {"rank": 4, "targets": ("*.query.*",)},
        "device": {"cores": 1, "memory_bytes": 500_000_000},
        "checkpoint_every_s": 30.0,
    }
    found = read_texts(write_texts(settings))
    assert found.settings == settings
    assert found.problems == {}
    small = {"memory_limit_bytes": 524_288, "device": {"memory_bytes": 1}}
    assert read_texts(write_texts(small)).settings == small
    assert read_texts(write_texts({"base": "a", "detached": True})).further == {
        "base": "a",
        "detached": True,
    }


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500 MB", 5 * 10**8),
        ("2GiB", 2**31),
        ("1_000_000", 10**6),
        ("1_000 b", 1000),
        ("1,500 MB", 15 * 10**8),
        ("1.5 GB", 15 * 10**8),
        ("12 b", 12),
    ],
)
def test_sizes_are_read_with_their_units(text: str, size: int) -> None:
    assert read_texts({"memory_limit_bytes": text}).settings == {"memory_limit_bytes": size}


@pytest.mark.fault
@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("memory_limit_bytes", "1,5 GB", "'1,5 GB' is not a size, .* Write 1.5 GB."),
        ("memory_limit_bytes", "5", "'5' has no unit: write 5 MB or 5 GB."),
        ("comparison_steps", "9" * 24, r"Must be 2\^53 or less\."),
        ("quiet_s", "1e24", r"Must be 2\^53 or less\."),
        ("quiet_s", "inf", "Must be a finite number."),
        ("quiet_s", "nan", "Must be a finite number."),
        ("memory_limit_bytes", "0", "Must be 1 or more."),
        ("device.memory_bytes", "500", "'500' has no unit: write 500 MB or 500 GB."),
        ("memory_limit_bytes", "1 5 GB", "is not a size"),
        ("memory_limit_bytes", "1,50,0", "is not a size"),
        ("memory_limit_bytes", "2 i", "is not a size"),
        ("steps", "1,5", "is not an integer"),
        ("steps", "0,001", "is not an integer"),
        ("learning_rate", "0,001", "'0,001' is not a number, .* Write 0.001.$"),
        ("learning_rate", "1,000", "'1,000' is not a number, .* Write 1.000 or 1000.$"),
        ("learning_rate", "0,01", "is not a number, .* Write 0.01."),
    ],
)
def test_a_comma_before_a_fraction_is_refused(name: str, text: str, words: str) -> None:
    found = read_texts({name: text})
    assert re.search(words, found.problems[name]), found.problems


def test_commas_between_thousands_are_read() -> None:
    assert read_texts({"steps": "12,000"}).settings == {"steps": 12_000}


@pytest.mark.fault
@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("epochs", "-1", "Must be 1 or more."),
        ("epochs", "1.5", "'1.5' is not an integer, such as 20."),
        ("epochs", "<b>x", "'<b>x' is not an integer, such as 20."),
        ("steps", "1 000", "'1 000' is not an integer, such as 20. Write 1000."),
        (
            "learning_rate",
            "1'000'000",
            "\"1'000'000\" is not a number, such as 0.001 or 1e-3. Write 1000000.",
        ),
        ("epochs", "9" * 5000, f"'{'9' * 99}...{'9' * 99}' is too large."),
        ("learning_rate", "nan", "Must be a finite number."),
        ("learning_rate", "fast", "'fast' is not a number, such as 0.001 or 1e-3."),
        ("learning_rate", "0,01x", "'0,01x' is not a number, such as 0.001 or 1e-3."),
        ("learning_rate", "-0,1", "'-0,1' is not a number, such as 0.001 or 1e-3."),
        (
            "learning_rate",
            "1,5e-3",
            "'1,5e-3' is not a number, such as 0.001 or 1e-3. Write 1.5e-3.",
        ),
        ("seed", "-3", "Must be 0 or more."),
        ("memory_limit_bytes", "much", "'much' is not a size, such as 500 MB or 2 GiB."),
        ("optimizer", "adam", "There is no 'adam'. Did you mean 'adamw'?"),
        ("detached", "maybe", "'maybe' is neither yes nor no."),
        ("comparison_steps", "0", "Must be 1 or more."),
        ("quiet_s", "-1", "Must be 0 or more."),
        ("quiet_s", "inf", "Must be a finite number."),
    ],
)
def test_a_wrong_text_is_a_sentence_of_ours(name: str, text: str, problem: str) -> None:
    assert read_texts({name: text}).problems == {name: problem}


@pytest.mark.fault
@pytest.mark.parametrize(
    ("switch", "name", "text"),
    [("federation", "federation.clients", "abc"), ("lora", "lora.rank", "-1")],
)
def test_what_is_switched_off_is_marked_and_prevents_nothing(
    switch: str, name: str, text: str
) -> None:
    typed = TypedSettings(Setup())
    typed.type(name, text)
    assert not typed.wrong()
    typed.type(switch, "yes")
    assert len(typed.wrong("train")) == 1
    assert list(typed.read.problems) == [name]
    typed.type(switch, "")
    assert not typed.wrong()


@pytest.mark.fault
def test_a_size_beyond_all_numbers_is_a_problem_of_its_field_alone() -> None:
    setup = Setup()
    typed = TypedSettings(setup)
    typed.type("memory_limit_bytes", "9" * 310)
    typed.type("steps", "3")
    assert list(typed.read.problems) == ["memory_limit_bytes"]
    assert "is not a size" in typed.read.problems["memory_limit_bytes"]
    assert setup.settings["steps"] == 3


def test_a_setting_of_words_is_no_number() -> None:
    found = read_texts({"tuning": "off"})
    assert (found.settings, found.problems) == ({"tuning": "off"}, {})
    kinds = {name: field.kind for name, field in FIELDS.items()}
    assert (kinds["steps"], kinds["learning_rate"], kinds["tuning"]) == ("whole", "number", "text")


@pytest.mark.fault
def test_settings_are_checked_for_the_engines_that_are_chosen() -> None:
    setup = Setup()
    typed = TypedSettings(setup)
    typed.choose_engines(["pytorch", "ondevice"])
    typed.type("processes", "2")
    assert "'ondevice' trains in one process" in typed.read.problems["processes"]
    typed.choose_engines(["pytorch", "ortmodule"])
    assert typed.read.problems == {}
    assert setup.engines == ["pytorch", "ortmodule"]
    typed.type("processes", "3")
    assert "cannot be divided by 3" in typed.read.problems["processes"]


@pytest.mark.fault
@pytest.mark.parametrize("name", ["steps", "epochs", "gradient_accumulation", "checkpoint_every"])
def test_a_number_that_no_record_holds_is_a_problem(name: str) -> None:
    assert list(read_texts({name: "1" + "0" * 400}).problems) == [name]
    assert read_texts({name: "1000000000000"}).problems == {}


@pytest.mark.fault
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"step": 5}, "Did you mean 'steps'"),
        ({"lora": 5}, "lora=5: give a dictionary"),
        ({"device": 5}, "device=5: give a dictionary"),
        ({"lora": {"rang": 5}}, "Did you mean 'lora.rank'"),
    ],
)
def test_settings_given_in_code_that_do_not_exist_are_sentences(
    settings: dict[str, object], sentence: str
) -> None:
    typed = TypedSettings(Setup())
    typed.type("steps", "7")
    with pytest.raises(ConfigError, match=sentence):
        typed.set(**settings)
    assert typed.texts == {"steps": "7"}


@pytest.mark.fault
def test_conflicting_settings_are_shown_at_one_of_them() -> None:
    found = read_texts({"early_stopping": "2", "evaluate": "no"})
    assert list(found.problems) == ["early_stopping"]
    assert "evaluate=True" in found.problems["early_stopping"]


@pytest.mark.fault
def test_a_setting_that_does_not_exist_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no setting 'epoch'\. Did you mean 'epochs'"):
        write_texts({"epoch": 3})

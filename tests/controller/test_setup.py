"""The setup that a training or a comparison is started with."""

from __future__ import annotations

import pytest

from workbench.controller.setup import COMPARISON_STEPS, Setup
from workbench.errors import ConfigError


def test_only_given_settings_are_passed_on() -> None:
    assert Setup().training_settings() == {}
    setup = Setup(settings={"epochs": 3}, base="run", base_except=("head.*",), detached=True)
    assert setup.training_settings() == {
        "epochs": 3,
        "base": "run",
        "base_except": ("head.*",),
        "detached": True,
    }
    assert setup.config_settings() == {"epochs": 3}


def test_a_comparison_has_steps_of_its_own_in_place_of_those_of_a_training() -> None:
    settings = {"epochs": 3, "early_stopping": 2, "seed": 4}
    setup = Setup(quiet_s=2.0, ortmodule={"threads": 2}, settings=settings)
    assert setup.comparison_settings() == {
        "seed": 4,
        "ortmodule": {"threads": 2},
        "steps": COMPARISON_STEPS,
        "quiet_s": 2.0,
    }


def test_a_comparison_begins_with_the_base_as_a_training_does() -> None:
    found = Setup(base="run", base_except=("head.*",)).comparison_settings()
    assert (found["base"], found["base_except"]) == ("run", ("head.*",))


def test_a_copy_does_not_follow_later_changes() -> None:
    setup = Setup(settings={"epochs": 3})
    copy = setup.copy()
    setup.settings["epochs"] = 4
    assert copy.settings == {"epochs": 3}


def test_one_engine_at_least_is_chosen() -> None:
    assert Setup(engines=["fake"]).chosen_engines() == ["fake"]
    with pytest.raises(ConfigError, match="choose at least one engine"):
        Setup().chosen_engines()

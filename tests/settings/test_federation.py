"""Options of strategies that Flower would take and that end a run in its middle."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from workbench.settings.federation import OPTION_RANGES, STRATEGY_OPTIONS, FederationOptions


@pytest.mark.fault
@pytest.mark.parametrize(
    ("strategy", "option", "value", "problem"),
    [
        ("fedtrimmedavg", "beta", 0.5, "beta=0.5 must be 0 or more and below 0.5."),
        ("fedadam", "eta", 0, "eta=0 must be above 0."),
        ("fedadam", "eta", math.nan, "finite"),
        ("fedavgm", "server_learning_rate", math.inf, "finite"),
        ("fedadam", "beta_1", 1, "beta_1=1 must be 0 or more and below 1."),
        ("fedprox", "proximal_mu", -1, "proximal_mu=-1 must be 0 or more."),
        ("krum", "num_malicious_nodes", 1.5, "num_malicious_nodes=1.5 must be an integer."),
        ("krum", "num_malicious_nodes", 3, "strategy='krum' needs 9 or more in a round"),
        ("multikrum", "num_nodes_to_select", 0, "num_nodes_to_select=0 must be 1 or more."),
        ("bulyan", "num_malicious_nodes", 2, "strategy='bulyan' needs 11 or more in a round"),
    ],
)
def test_values_that_mean_nothing_are_refused(
    strategy: Any, option: str, value: float, problem: str
) -> None:
    with pytest.raises(ValidationError, match=problem.replace("(", r"\(")):
        FederationOptions(strategy=strategy, strategy_options={option: value})


def test_every_option_has_a_range() -> None:
    assert {name for options in STRATEGY_OPTIONS.values() for name in options} == set(OPTION_RANGES)

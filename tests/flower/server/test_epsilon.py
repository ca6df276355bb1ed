"""Epsilon against an accountant of others."""

from __future__ import annotations

import pytest

from workbench.flower.server.epsilon import PrivacyAccountant, gaussian_epsilon

DELTA = 1e-5


@pytest.mark.parametrize(
    ("noise_multiplier", "releases", "epsilon"),
    [
        (0.5, 1, 9.99725615024243),
        (1.0, 1, 4.37717810002493),
        (1.0, 10, 17.85658683146691),
        (5.0, 100, 9.99725615024243),
        (0.8, 4, 13.206712241909576),
    ],
)
def test_epsilon_is_dp_accountings(noise_multiplier: float, releases: int, epsilon: float) -> None:
    """Of `PLDAccountant` in dp-accounting 0.6.0, which the package index has; see
    docs/federated.md for why it is not installed. It rounds up, by less than 1e-7 here."""
    accountant = PrivacyAccountant(2)
    for _ in range(releases):
        accountant.add([1], noise_multiplier)
    found = accountant.epsilon(DELTA)
    assert 0 <= epsilon - found < 1e-7, (found, epsilon)


def test_the_client_that_contributed_most_counts() -> None:
    accountant = PrivacyAccountant(3)
    assert accountant.epsilon(DELTA) == 0
    accountant.add([0, 1], 1.0)
    once = accountant.epsilon(DELTA)
    accountant.add([2], 1.0)
    assert accountant.epsilon(DELTA) == once
    accountant.add([1], 2.0)
    assert accountant.epsilon(DELTA) > once


def test_extremes_are_numbers() -> None:
    assert gaussian_epsilon(1e-2, DELTA) == pytest.approx(5425.51, abs=0.01)
    assert gaussian_epsilon(1e6, DELTA) == 0

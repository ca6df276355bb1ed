"""Patterns that say which parameters train."""

from __future__ import annotations

import pytest

from workbench.errors import ConfigError
from workbench.settings.requires_grad import trainable_names

NAMES = ["conv.weight", "conv.bias", "output.weight", "output.bias"]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (None, NAMES),
        (("*",), NAMES),
        (("output.*",), NAMES[2:]),
        (("*.bias", "conv.weight"), ["conv.weight", "conv.bias", "output.bias"]),
    ],
)
def test_patterns_choose_in_the_order_of_the_names(
    patterns: tuple[str, ...] | None, expected: list[str]
) -> None:
    assert trainable_names(NAMES, patterns) == expected


@pytest.mark.fault
def test_every_pattern_without_a_match_is_reported() -> None:
    with pytest.raises(ConfigError) as caught:
        trainable_names(NAMES, ("output.wieght", "*.bias", "head.*"))
    assert len(caught.value.problems) == 2
    assert "Did you mean 'output.weight'" in caught.value.problems[0]


@pytest.mark.fault
def test_no_pattern_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match="selects no parameter"):
        trainable_names(NAMES, ())

"""How many times the lowest a loss is."""

from __future__ import annotations

import math

import pytest

from workbench.compare.recorded_runs.final_losses import ratio_to_lowest


@pytest.mark.parametrize(
    ("loss", "lowest", "text"),
    [
        (0.2, 0.1, "2.00×"),  # noqa: RUF001
        (0.1082, 0.1078, "1.004×"),  # noqa: RUF001
        (0.102, 0.1, "1.02×"),  # noqa: RUF001
        (0.10000001, 0.1, ""),
        (0.2, 0.0, ""),
        (math.nan, 0.1, ""),
    ],
)
def test_a_ratio_to_the_lowest_tells_how_far_a_loss_is(
    loss: float, lowest: float, text: str
) -> None:
    assert ratio_to_lowest(loss, lowest) == text

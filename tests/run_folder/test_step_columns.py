"""Losses and durations are read as they were written, and nothing else is taken for them."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
import pytest

from workbench.run_folder.step_columns import (
    PACKED,
    read_durations,
    read_losses,
    written_durations,
    written_losses,
)


@pytest.mark.parametrize("steps", [1, PACKED - 1, PACKED, 1000])
def test_what_is_written_is_read(steps: int) -> None:
    draw = np.random.default_rng(steps)
    losses = draw.standard_normal(steps).tolist()
    losses[steps // 2] = 1 / 3
    nanoseconds = draw.integers(1, 2**53, steps).tolist()
    read = read_losses(json.loads(json.dumps(written_losses(losses))))
    np.testing.assert_array_equal(read, np.array(losses), strict=True)
    read = read_durations(json.loads(json.dumps(written_durations(nanoseconds))))
    np.testing.assert_array_equal(read, np.array(nanoseconds), strict=True)


@pytest.mark.parametrize("steps", [3, PACKED])
def test_a_loss_that_is_not_finite_is_read_as_nan(steps: int) -> None:
    losses = [1.0] * (steps - 3) + [math.nan, math.inf, -math.inf]
    written = json.dumps(written_losses(losses), allow_nan=False)
    read = read_losses(json.loads(written))
    assert np.isfinite(read[:-3]).all()
    assert np.isnan(read[-3:]).all()


def test_few_steps_can_be_read_by_a_person() -> None:
    assert written_losses([0.5, math.nan]) == [0.5, None]
    assert written_durations([7, 8]) == [7, 8]


def packed(values: list[Any], dtype: str) -> str:
    return base64.b64encode(np.array(values, dtype).tobytes()).decode()


@pytest.mark.fault
@pytest.mark.parametrize(
    "value",
    [
        "", "AAAA", "AAAAAAAA8D8", "AAAAAAAA8D8=\n", "é", "\ud83d", b"AAAAAAAA8D8=",
        packed([1.0, math.inf], "<f8"), [], {}, None, [1.0, "1"], [1.0, math.inf], [2**53],
    ],
)  # fmt: skip
def test_what_is_no_loss_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_losses(value)


@pytest.mark.fault
@pytest.mark.parametrize(
    "value",
    [
        "", "AAAA", "é", packed([1, 0], "<i8"), packed([2**53], "<i8"), packed([-1], "<i8"),
        [], {}, None, [1, True], [1.0], [0], [2**53], [2**70], [2**63, 1],
    ],
)  # fmt: skip
def test_what_is_no_duration_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_durations(value)

"""Durations and threads as text."""

from __future__ import annotations

import math

import pytest

from workbench.display.quantities import duration_text, thread_count


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.84, "0.8 s"), (45.2, "45 s"), (134, "2 min 14 s"), (11_130, "3 h 5 min"), (math.nan, "–")],  # noqa: RUF001
)
def test_a_duration_as_text(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_number_of_threads_in_words() -> None:
    assert [thread_count(threads) for threads in (1, 2, 16)] == [
        "1 thread",
        "2 threads",
        "16 threads",
    ]
    assert thread_count(2, processes=2) == "2 processes of 2 threads"

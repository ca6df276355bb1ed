"""One thread where several are not clearly faster; nothing tried where passes are long."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.ort.ortmodule import threads


@pytest.mark.parametrize(
    ("seconds", "most", "chosen", "loaded"),
    [
        ({4: 0.001, 1: 0.001}, 4, 1, [4, 1]),
        ({4: 0.001, 1: 0.0015}, 4, 4, [4, 1]),
        ({4: 0.002, 1: 0.001}, 4, 1, [4, 1]),
        ({4: 0.5, 1: 0.1}, 4, 4, [4]),
        ({1: 0.001}, 1, 1, [1]),
    ],
)
def test_the_faster_is_kept(
    seconds: dict[int, float],
    most: int,
    chosen: int,
    loaded: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []

    def load(count: int) -> Any:
        made.append(count)
        return count

    monkeypatch.setattr(threads, "both_passes_s", lambda session, inputs: seconds[session])
    assert threads.fastest(load, [], most) == chosen
    assert made == loaded

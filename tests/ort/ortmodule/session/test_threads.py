"""One thread where several are not clearly faster; nothing tried where passes are long."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.ort.ortmodule.session import threads


@pytest.mark.parametrize(
    ("seconds", "most", "by_pytorch", "chosen", "loaded"),
    [
        ({4: 0.001, 1: 0.001}, 4, False, 1, [1, 4]),
        ({4: 0.001, 1: 0.0015}, 4, True, 4, [1, 4]),
        ({4: 0.002, 1: 0.001}, 4, False, 1, [1, 4]),
        ({4: 0.3, 1: 0.9}, 4, True, 4, [1, 4]),
        ({4: 0.2, 1: 0.1}, 4, False, 4, [1, 4]),
        ({4: 0.2, 1: 0.1}, 4, True, 1, [1, 4]),
        ({4: 0.3, 1: 1.2}, 4, True, 1, [1]),
        ({1: 0.001}, 1, False, 1, [1]),
    ],
)
def test_the_faster_is_kept(
    seconds: dict[int, float],
    most: int,
    by_pytorch: bool,
    chosen: int,
    loaded: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []

    def load(count: int) -> Any:
        made.append(count)
        return count

    monkeypatch.setattr(threads, "both_passes_s", lambda session, inputs: seconds[session])
    assert threads.fastest(load, [], most, by_pytorch=by_pytorch) == chosen
    assert made == loaded

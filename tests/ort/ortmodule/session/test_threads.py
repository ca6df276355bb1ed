"""One thread where several are not clearly faster; nothing tried where passes are long."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

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


@pytest.mark.parametrize(
    ("of_session", "seconds", "suffices"),
    [
        (1, {1: 0.001, 4: 0.001}, True),
        (1, {1: 0.001, 4: 0.003}, True),
        (1, {1: 0.003, 4: 0.001}, False),
        (4, {1: 0.001, 4: 0.001}, False),
    ],
)
def test_one_thread_of_pytorchs_suffices_where_more_are_not_faster(
    of_session: int,
    seconds: dict[int, float],
    suffices: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used = [4]
    monkeypatch.setattr(torch, "get_num_threads", lambda: used[-1])
    monkeypatch.setattr(torch, "set_num_threads", used.append)
    monkeypatch.setattr(threads, "both_passes_s", lambda session, inputs: seconds[used[-1]])
    session: Any = SimpleNamespace(threads=of_session)
    assert threads.one_thread_suffices(session, []) == suffices
    assert used[-1] == 4, "the number of threads is that of before"

"""The seed of a module that is built: the user's own random numbers are as if it were not."""

from __future__ import annotations

import threading

import pytest
import torch

from workbench.modules.seeding import seeded


def test_a_seed_within_a_seed_leaves_the_outer_one_where_it_was() -> None:
    state = torch.get_rng_state()
    with seeded(3):
        first = torch.rand(1)
        with seeded(4):
            torch.rand(1)
        second = torch.rand(1)
    with seeded(3):
        assert torch.equal(torch.rand(2), torch.cat([first, second]))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("first_out", ["first in", "last in"])
def test_overlapping_seeds_of_threads_restore_the_state_before_both(first_out: str) -> None:
    state = torch.get_rng_state()
    entered, leave = threading.Event(), threading.Event()

    def build() -> None:
        with seeded(5):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=build)
    if first_out == "first in":
        thread.start()
        entered.wait()
        with seeded(6):
            leave.set()
            thread.join()
    else:
        with seeded(6):
            thread.start()
            entered.wait()
        leave.set()
        thread.join()
    assert torch.equal(torch.get_rng_state(), state)

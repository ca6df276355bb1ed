"""Draws of random numbers are noticed, by whatever seed."""

from __future__ import annotations

import torch

from workbench.modules.drawn_numbers import has_drawn


def test_draws_and_other_seeds_are_noticed() -> None:
    torch.manual_seed(3)
    assert not has_drawn(3)
    assert has_drawn(4)
    torch.nn.Linear(2, 2)
    assert has_drawn(3)
    torch.manual_seed(4)
    assert has_drawn(3)

"""The learning rate of each step: a warm-up, then a schedule of `torch.optim.lr_scheduler`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.settings.config import TrainingConfig


def learning_rate_at(config: TrainingConfig, step: int, total_steps: int) -> float:
    """The learning rate of the optimizer step after `step` others, of `total_steps`.

    It rises linearly over `lr_warmup_steps`, of which the first has 1 / (lr_warmup_steps + 1) of
    `learning_rate`; the remaining steps follow the schedule, which would reach 0 in the step after
    the last. In `torch.optim.lr_scheduler` this is

        SequentialLR(
            [LinearLR(start_factor=1 / (warmup + 1), total_iters=warmup), schedule],
            milestones=[warmup],
        )

    with the schedule ConstantLR(factor=1), LinearLR(start_factor=1, end_factor=0),
    CosineAnnealingLR or PolynomialLR(power=lr_power) over the steps that are left.
    """
    warmup = config.lr_warmup_steps
    if step < warmup:
        return config.learning_rate * (step + 1) / (warmup + 1)
    if config.lr_schedule == "constant":
        return config.learning_rate
    left = 1 - min(1.0, (step - warmup) / max(1, total_steps - warmup))
    if config.lr_schedule == "cosine":
        return config.learning_rate * (1 + math.cos(math.pi * (1 - left))) / 2
    power = config.lr_power if config.lr_schedule == "polynomial" else 1.0
    return float(config.learning_rate * left**power)


def is_constant(config: TrainingConfig) -> bool:
    """Whether every step has the same learning rate."""
    return config.lr_schedule == "constant" and not config.lr_warmup_steps

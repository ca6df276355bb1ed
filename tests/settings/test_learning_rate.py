"""The learning rate of each step, beside the schedulers of `torch.optim`."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.optim import SGD
from torch.optim.lr_scheduler import (
    ConstantLR,
    CosineAnnealingLR,
    LinearLR,
    LRScheduler,
    PolynomialLR,
    SequentialLR,
)

from workbench.errors import ConfigError
from workbench.settings.config import make_config
from workbench.settings.learning_rate import is_constant, learning_rate_at

STEPS, RATE = 100, 3e-3


def torch_rates(schedule: str, warmup: int, power: float) -> list[float]:
    """The learning rate that torch's schedulers give each of the steps."""
    optimizer = SGD([torch.zeros(1, requires_grad=True)], lr=RATE)
    left = STEPS - warmup
    decay: LRScheduler = {
        "constant": lambda: ConstantLR(optimizer, factor=1),
        "linear": lambda: LinearLR(optimizer, 1, 0, left),
        "cosine": lambda: CosineAnnealingLR(optimizer, left),
        "polynomial": lambda: PolynomialLR(optimizer, left, power),
    }[schedule]()
    if warmup:
        start = LinearLR(optimizer, 1 / (warmup + 1), total_iters=warmup)
        decay = SequentialLR(optimizer, [start, decay], milestones=[warmup])
    rates = []
    for _ in range(STEPS):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        decay.step()
    return rates


@pytest.mark.parametrize("warmup", [0, 1, 10])
@pytest.mark.parametrize(
    ("schedule", "power"),
    [("constant", 1.0), ("linear", 1.0), ("cosine", 1.0), ("polynomial", 1.0), ("polynomial", 2.5)],
)
def test_rates_are_torchs(schedule: str, power: float, warmup: int) -> None:
    config = make_config(
        {
            "learning_rate": RATE,
            "lr_schedule": schedule,
            "lr_power": power,
            "lr_warmup_steps": warmup,
        }
    )
    rates = [learning_rate_at(config, step, STEPS) for step in range(STEPS)]
    assert rates == pytest.approx(torch_rates(schedule, warmup, power), rel=1e-9, abs=1e-15)
    assert all(rate > 0 for rate in rates), "no step is wasted"
    assert is_constant(config) == (len(set(rates)) == 1)


def test_a_warm_up_may_be_longer_than_the_training() -> None:
    config = make_config({"lr_schedule": "linear", "lr_warmup_steps": 200})
    rates = [learning_rate_at(config, step, 10) for step in range(10)]
    assert rates == sorted(rates)
    assert rates[-1] < config.learning_rate


@pytest.mark.fault
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lr_schedule": "cosin"}, "lr_schedule='cosin'"),
        ({"lr_warmup_steps": -1}, "lr_warmup_steps=-1"),
        ({"lr_power": 0}, "lr_power=0"),
        ({"lr_power": float("inf")}, "lr_power=inf"),
        ({"gradient_accumulation": 0}, "gradient_accumulation=0"),
        ({"max_grad_norm": 0}, "max_grad_norm=0"),
        ({"max_grad_norm": float("nan")}, "max_grad_norm=nan"),
        ({"early_stopping": 3, "evaluate": False}, "set evaluate=True"),
        ({"evaluate_every": 0}, "evaluate_every=0"),
        ({"checkpoint_every_s": 0}, "checkpoint_every_s=0"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make_config(settings)

"""The default title of a run."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from workbench.runs.run_title import main_settings, run_title, trained_by
from workbench.settings.config import make_config


def at(year: int) -> float:
    return time.mktime((year, 11, 3, 14, 5, 12, 0, 0, -1))


def test_model_engine_and_start() -> None:
    year = time.localtime().tm_year
    assert run_title("digits-mlp", "ondevice", at(year)) == "digits-mlp · ondevice · 3 Nov 14:05:12"
    assert run_title("digits-mlp", "", at(2019)) == "digits-mlp · 3 Nov 2019 14:05:12"


@pytest.mark.parametrize("started", [math.nan, 1e300, -1e300])
def test_a_start_that_is_none_is_left_out(started: float) -> None:
    assert run_title("digits-mlp", "fake", started) == "digits-mlp · fake"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"config": {"engine": "pytorch", "processes": 1}}, "pytorch"),
        ({"config": {"engine": "pytorch", "processes": 2}}, "pytorch, 2 processes"),
        (
            {
                "config": {"engine": "ondevice", "processes": 1},
                "federation": {"options": {"clients": 1000}},
            },
            "ondevice, 1,000 clients",
        ),
        ({"config": {"engine": "fake", "processes": "two"}, "federation": []}, "fake"),
        ({"config": None}, ""),
    ],
)
def test_who_shares_the_work(spec: dict[str, Any], text: str) -> None:
    assert trained_by(spec) == text


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"learning_rate": 0.01, "loss": "mse"}, "lr 0.01, batch 32, 1 epoch, loss mse"),
        ({"loss": "nll"}, "lr 0.001, batch 32, 1 epoch, loss nll"),
        ({"steps": 1200, "epochs": 8, "batch_size": 64}, "lr 0.001, batch 64, 1,200 steps"),
        (
            {"epochs": 8, "optimizer": "sgd", "lora": {"rank": 2}, "requires_grad": ["a"]},
            "lr 0.001, batch 32, 8 epochs, sgd, LoRA, train only a",
        ),
    ],
)
def test_the_main_settings(settings: dict[str, Any], text: str) -> None:
    assert main_settings(make_config(settings)) == text
    assert main_settings(make_config({"steps": 3}), "round").endswith(", 3 rounds")

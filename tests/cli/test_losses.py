"""Losses from the command line: a name with options, several as JSON, a function by its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.cli.command import Invoke
from workbench.cli.setting_options import chosen_loss
from workbench.errors import ConfigError


@pytest.mark.parametrize(
    ("loss", "options", "expected"),
    [
        (None, None, None),
        ("mse", [], "mse"),
        ("cross_entropy", ["label_smoothing=0.1"], wb.Loss("cross_entropy", label_smoothing=0.1)),
        ("nll", ["weight=1,4", "ignore-index=2"], wb.Loss("nll", weight=[1, 4], ignore_index=2)),
        (
            "bce_with_logits",
            ["pos_weight=[[1],[2]]"],
            wb.Loss("bce_with_logits", pos_weight=[[1], [2]]),
        ),
        ("mse", ["output=aux", "factor=2"], wb.Loss("mse", output="aux", factor=2)),
        ('{"b": {"name": "l1", "factor": 0.3}}', None, {"b": {"name": "l1", "factor": 0.3}}),
        ('["mse", "l1"]', None, ["mse", "l1"]),
    ],
)
def test_valid_loss_options(loss: str | None, options: list[str], expected: Any) -> None:
    assert chosen_loss(loss, options) == expected


@pytest.mark.fault
@pytest.mark.parametrize(
    ("loss", "options", "message"),
    [
        (None, ["beta=1"], "requires --loss"),
        ('["mse"]', ["beta=1"], "in JSON, add the options there"),
        ("smooth_l1", ["beta"], "'beta': write it as NAME=VALUE"),
        ("smooth_l1", ["bta=1"], "no option 'bta'. Did you mean 'beta'"),
        ("mse", ["name=l1"], "'name=l1': name is not an option of a loss"),
        ("mse", [f"function-sha256={'0' * 64}"], "function_sha256 is not an option"),
        ("smooth_l1", ["beta=wide"], "beta='wide': must be a number"),
    ],
)
def test_invalid_loss_options(loss: str | None, options: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chosen_loss(loss, options)


def test_a_run_with_a_smoothed_loss(workbench: Invoke) -> None:
    outcome = workbench(
        *("train", "digits-mlp", "--engine=fake", "--steps=5", "--json"),
        *("--loss=cross_entropy", "--loss-option=label_smoothing=0.1"),
    )
    assert outcome.status == 0, outcome.stderr
    run = wb.load_run(outcome.json["folder"])
    assert run.config.losses == (wb.Loss("cross_entropy", label_smoothing=0.1),)


def test_a_function_of_a_file_is_trained_on(workbench: Invoke, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def steep(output, target):\n"
        "    return (output.log_softmax(1).gather(1, target[:, None]) ** 2).mean()\n"
    )
    outcome = workbench(
        *("train", "digits-mlp", "--engine=ondevice", "--steps=3", "--json"),
        "--loss=mine:steep",
    )
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["status"] == "completed"
    assert np.isfinite(outcome.json["loss"])


@pytest.mark.fault
def test_wrong_options_are_refused(workbench: Invoke) -> None:
    outcome = workbench("train", "digits-mlp", "--loss=mse", "--loss-option=wieght=1")
    assert outcome.status != 0
    assert "loss mse: no option 'wieght'" in outcome.stderr

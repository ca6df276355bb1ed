"""Losses as settings: parsed, refused as a whole, written to JSON and read back."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from workbench.errors import ConfigError
from workbench.losses.loss import OPTIONS, Loss, LossName
from workbench.losses.loss_list import as_losses, losses_to_json
from workbench.losses.loss_outputs import outputs_read, with_outputs_named
from workbench.settings.config import make_config


def mine(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (output - target).abs().mean()


def test_every_name_has_its_options() -> None:
    assert tuple(OPTIONS) == get_args(LossName)
    for options in OPTIONS.values():
        assert set(options) <= set(Loss.model_fields)


@pytest.mark.parametrize(
    "loss",
    [
        "cross_entropy",
        Loss("cross_entropy", weight=[1, 2], ignore_index=-1, label_smoothing=0.1),
        Loss("bce_with_logits", pos_weight=torch.tensor([[1.0], [3.0]]), weight=2),
        ["nll", Loss("smooth_l1", beta=0, factor=0.5)],
        {"logits": "cross_entropy", "aux": Loss("mse", factor=0.3)},
        [{"name": "mse", "factor": 0.3}, "l1"],
    ],
)
def test_a_written_loss_is_read_back(loss: Any) -> None:
    losses = as_losses(loss)
    assert as_losses(json.loads(json.dumps(losses_to_json(losses)))) == losses
    config = make_config({"loss": loss})
    assert config.losses == losses
    assert make_config(json.loads(json.dumps(config.model_dump()))) == config


def test_a_plain_name_stays_one() -> None:
    for loss in ("mse", Loss("mse"), [Loss("mse")], Loss("mse", factor=1.0)):
        assert make_config({"loss": loss}).loss == "mse"
        assert losses_to_json(as_losses(loss)) == "mse"


def test_a_loss_shows_what_was_chosen() -> None:
    smooth = Loss("cross_entropy", label_smoothing=0.1)
    assert str(Loss("mse")) == "mse"
    assert str(smooth) == "Loss('cross_entropy', label_smoothing=0.1)"
    assert str(Loss(mine, factor=2)) == "Loss(mine, factor=2.0)"


@pytest.mark.fault
def test_every_problem_is_listed_at_once() -> None:
    loss = {
        "a": "cross_entrpy",
        "b": "mse",
        "c": 3,
    }
    with pytest.raises(ConfigError) as caught:
        make_config({"loss": loss, "epochs": 0})
    message = str(caught.value)
    assert len(caught.value.problems) == 3
    assert "loss='cross_entrpy': Did you mean 'cross_entropy'" in message
    assert "loss=3: must be a name, a Loss or a function" in message
    with pytest.raises(ConfigError) as caught:
        Loss("cross_entropy", wieght=[1], label_smoothing=2, ignore_index=0.5, beta=1)
    message = str(caught.value)
    assert len(caught.value.problems) == 4
    assert "no option 'wieght'. Did you mean 'weight'" in message
    assert "no option 'beta'. Known: factor, ignore_index, label_smoothing" in message
    assert "label_smoothing=2: must be 1 or less" in message


@pytest.mark.fault
@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nll", {"weight": 2.0}, "one number per class"),
        ("cross_entropy", {"weight": [[1.0, 2.0]]}, "one number per class"),
        ("cross_entropy", {"weight": [1.0, float("nan")]}, "finite numbers"),
        ("cross_entropy", {"weight": []}, "finite numbers, at least one"),
        ("bce_with_logits", {"pos_weight": [[1.0], [1.0, 2.0]]}, "lists of equal length"),
        ("bce_with_logits", {"pos_weight": "heavy"}, "lists of equal length"),
        ("smooth_l1", {"beta": -1}, "must be 0 or more"),
        ("mse", {"factor": float("inf")}, "finite"),
    ],
)
def test_wrong_values(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Loss(name, **options)


@pytest.mark.fault
def test_the_hash_of_a_function_is_for_records_alone() -> None:
    """Otherwise a built-in loss, or a name of none, would be taken for a function unchecked."""
    sha256 = "a" * 64
    for name in ("mse", "cross_entropy"):
        with pytest.raises(ConfigError, match="no option 'function_sha256'"):
            Loss(name, function_sha256=sha256)
        with pytest.raises(ConfigError, match="no option 'function_sha256'"):
            make_config({"loss": [{"name": name, "function_sha256": sha256}]})
    with pytest.raises(ConfigError, match="loss='mine'"):
        Loss("mine", function_sha256=sha256)
    assert Loss.from_record({"name": "mine", "function_sha256": sha256}).custom
    with pytest.raises(ConfigError, match="no option 'smoothing'"):
        Loss.from_record({"name": "mse", "smoothing": 1})


@pytest.mark.fault
@pytest.mark.parametrize("loss", [3, None, [], {}, [[]]])
def test_values_that_are_no_loss(loss: Any) -> None:
    with pytest.raises(ConfigError, match="loss="):
        as_losses(loss)


def test_a_loss_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Loss("mse").factor = 2.0  # type: ignore[misc]


@pytest.mark.fault
def test_a_function_is_found_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_losses.py").write_text("def steep(output, target):\n    return output.sum()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    loss = Loss("my_losses:steep", factor=0.5)
    assert loss.custom
    assert loss.name == "steep"
    assert loss.function is not None
    with pytest.raises(ConfigError, match="Did you mean 'steep'"):
        Loss("my_losses:stepe")
    with pytest.raises(ConfigError, match="cannot import 'no_losses'"):
        Loss("no_losses:steep")


@pytest.mark.fault
def test_a_function_has_no_options_of_others() -> None:
    assert Loss(mine).function is mine
    assert Loss(functools.partial(mine)).name == "partial"
    assert Loss(torch.nn.MSELoss()).name == "MSELoss"
    with pytest.raises(ConfigError, match="loss mine: no option 'weight'"):
        Loss(mine, weight=[1.0])


@pytest.mark.fault
def test_which_outputs_are_read() -> None:
    names = ["logits", "aux"]
    assert outputs_read(as_losses("mse"), names) == [(0,)]
    assert outputs_read(as_losses({"aux": "mse"}), names) == [(1,)]
    assert outputs_read(as_losses(["mse", "l1"]), names) == [(0,), (1,)]
    assert outputs_read(as_losses({"aux": "mse", "logits": "l1"}), names) == [(1,), (0,)]
    assert outputs_read(as_losses(mine), names) == [(0, 1)]
    assert outputs_read(as_losses({"aux": mine}), names) == [(1,)]
    assert outputs_read(as_losses([mine, mine]), names) == [(0,), (1,)]
    named = with_outputs_named(as_losses([mine, "mse"]), names)
    assert [loss.output for loss in named] == names
    assert named[0].function is mine
    with pytest.raises(ConfigError) as caught:
        outputs_read(as_losses({"logit": "mse"}) + as_losses(["l1", "l1", "l1"]), names)
    assert len(caught.value.problems) == 3
    assert "no output 'logit'. Did you mean 'logits'" in str(caught.value)


def test_numbers_come_from_anything_like_an_array() -> None:
    for numbers in ([1, 2], (1.0, 2.0), np.array([1, 2]), torch.tensor([1.0, 2.0])):
        assert Loss("cross_entropy", weight=numbers).weight == (1.0, 2.0)

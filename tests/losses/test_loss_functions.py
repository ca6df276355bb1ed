"""A function of the user's own crosses to a worker, and nothing else is ever unpickled."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from workbench.errors import ConfigError, ModelError
from workbench.losses.loss import Loss
from workbench.losses.loss_functions import (
    code_of,
    load_function,
    write_functions,
)
from workbench.losses.loss_list import as_losses
from workbench.user_code.user_code import SHA256_VARIABLE, UserCode


def steep(output: torch.Tensor, target: torch.Tensor, power: int = 4) -> torch.Tensor:
    return (output - target).pow(power).mean()


@pytest.mark.parametrize(
    "function",
    [
        steep,
        functools.partial(steep, power=2),
        torch.nn.MSELoss(),
        lambda a, b: a.sum(),
        lambda a, b: 2 * torch.ops.aten.mse_loss(a, b),
    ],
)
def test_it_arrives_as_it_was(
    function: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = as_losses(["mse", Loss(function, factor=2)])  # type: ignore[arg-type]
    written = write_functions(losses, tmp_path)
    assert written[0] == losses[0]
    for name, value in code_of(written).environment().items():
        monkeypatch.setenv(name, value)
    arrived = Loss.from_record(written[1].record())
    assert arrived.custom
    assert (arrived.function, arrived.name, arrived.factor) == (None, losses[1].name, 2)
    output, target = torch.rand(3), torch.rand(3)
    expected = function(output, target)  # type: ignore[operator]
    assert torch.equal(load_function(arrived, tmp_path)(output, target), expected)


def test_a_function_of_a_file_finds_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "losses_of_mine.py"
    path.write_text("def flat(output, target):\n    return output.mean()\n")
    monkeypatch.syspath_prepend(tmp_path)
    spec = importlib.util.find_spec("losses_of_mine")
    assert spec is not None
    (written,) = write_functions(as_losses("losses_of_mine:flat"), tmp_path)
    assert written.search_path == (str(tmp_path),)


@pytest.mark.fault
def test_a_pickle_of_another_process_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SHA256_VARIABLE, raising=False)
    (written,) = write_functions(as_losses(steep), tmp_path)
    arrived = Loss.from_record(written.record())
    with pytest.raises(ConfigError, match="can execute arbitrary code"):
        load_function(arrived, tmp_path)
    monkeypatch.setenv(SHA256_VARIABLE, code_of([arrived]).environment()[SHA256_VARIABLE])
    (path,) = tmp_path.glob("*.pkl")
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ConfigError, match="not the function that was written"):
        load_function(arrived, tmp_path)


@pytest.mark.fault
@pytest.mark.parametrize(("plant", "message"), [(os.mkfifo, "is a pipe"), (None, "not exist")])
def test_only_a_regular_file_is_read(
    plant: Callable[[Path], None] | None, message: str, tmp_path: Path
) -> None:
    (written,) = write_functions(as_losses(steep), tmp_path)
    (path,) = tmp_path.glob("*.pkl")
    path.unlink()
    if plant is not None:
        plant(path)
    with pytest.raises(ModelError, match=message):
        load_function(Loss.from_record(written.record()), tmp_path)


@pytest.mark.fault
def test_a_loss_that_cannot_be_pickled_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file, pytest.raises(ConfigError, match="loss <lambda>"):
        write_functions(as_losses(lambda output, target: file.read()), tmp_path)


def test_plain_losses_need_nothing(tmp_path: Path) -> None:
    losses = as_losses(["mse", "l1"])
    assert write_functions(losses, tmp_path) == losses
    assert code_of(losses) == UserCode()
    assert list(tmp_path.iterdir()) == []

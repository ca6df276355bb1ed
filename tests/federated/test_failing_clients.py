"""Clients that die, are late or return what is not finite are left out."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")
import workbench as wb
from tests.federated.running import (
    SGD,
    WAIT_S,
    client_processes,
    federated,
    part_of,
    wait_for_round,
)
from workbench.data import Dataset, Split
from workbench.errors import RunError
from workbench.federated import groups


def test_a_killed_client_is_left_out_and_the_round_continues(digits: Dataset) -> None:
    run = wb.federate(
        "digits-mlp", digits, clients=4, rounds=6, local_epochs=150, processes=2, batch_size=8
    )
    client = next(client_processes(run))
    os.kill(client.pid, signal.SIGKILL)
    wait_for_round(run, 1)
    run.stop()
    run.wait(WAIT_S)
    assert run.status == "stopped"
    assert run.federation is not None
    first = run.federation.clients.query("round == 1")
    assert first["left_out"].tolist().count("its process was killed by SIGKILL.") == 1
    assert run.federation.rounds["clients"].iloc[0] == 3
    assert np.isfinite(run.history["loss"]).all()


@pytest.mark.sweep
def test_a_late_client_is_left_out(digits: Dataset) -> None:
    """Client 0 has all rows but one: it does not end in time, the other does."""
    who = ["a"] * (len(digits.train) - 1) + ["b"]
    run = federated(
        digits,
        clients=2,
        rounds=1,
        split=groups(who),
        local_epochs=2_000,
        batch_size=1,
        local_steps=None,
        round_timeout_s=15,
        processes=2,
        requires_grad=("output.bias",),
    )
    assert run.federation is not None
    reasons = run.federation.clients.set_index("client")["left_out"].to_dict()
    assert reasons[0] == "it did not answer within 15 s."


def test_a_client_whose_loss_is_not_finite_is_left_out(digits: Dataset) -> None:
    data = part_of(digits, 96)
    inputs = data.train.inputs[0].copy()
    # A dataset refuses what is not finite itself.
    inputs[64:] = 3e38
    broken = Dataset(data.name, Split([inputs], data.train.target), None, data.classes)
    who = ["a"] * 64 + ["b"] * 32
    run = federated(broken, clients=2, rounds=1, batch_size=32, split=groups(who), **SGD)
    assert run.federation is not None
    one, other = run.federation.clients["left_out"]
    assert one == ""
    assert other in {"its loss is nan.", "its loss is inf."}
    assert all(np.isfinite(value).all() for value in run.weights().values())


@pytest.mark.fault
def test_weights_that_the_strategy_makes_not_finite_end_the_run() -> None:
    run = wb.federate(
        "digits-mlp", clients=2, rounds=3, strategy="fedadam", strategy_options={"eta": 1e39}
    )
    with pytest.raises(RunError, match=r"'fedadam' made weights that are not finite in round 1"):
        run.wait(WAIT_S)
    assert all(np.isfinite(value).all() for value in run.weights().values())


@pytest.mark.fault
def test_a_run_that_uses_no_update_has_failed(digits: Dataset) -> None:
    data = part_of(digits, 64)
    endless = [np.full_like(data.train.inputs[0], 3e38)]
    broken = Dataset(data.name, Split(endless, data.train.target), None, data.classes)
    run = wb.federate("digits-mlp", broken, clients=2, rounds=2, batch_size=32, **SGD)
    with pytest.raises(RunError, match="in none of 2 rounds was an update of a client used"):
        run.wait(WAIT_S)
    assert "2 of 2 clients were left out, client 0: its loss is" in run.error
    assert run.progress.done_steps == 2
    resumed = wb.resume(run, rounds=3)
    with pytest.raises(RunError, match="in none of 3 rounds was an update of a client used"):
        resumed.wait(WAIT_S)

"""Federated runs are paused, stopped, and resumed as if never interrupted."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")
import workbench as wb
from tests.federated.running import (
    WAIT_S,
    federated,
    largest_difference,
    part_of,
    wait_for_round,
)
from workbench.data import Dataset, Split
from workbench.errors import ConfigError


@pytest.mark.sweep
def test_pause_and_stop() -> None:
    run = wb.federate("digits-mlp", clients=2, rounds=10_000)
    wait_for_round(run, 2)
    run.pause()
    deadline = time.monotonic() + WAIT_S
    while run.status != "paused":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run.resume()
    run.stop()
    run.wait(WAIT_S)
    assert run.status == "stopped"
    assert len(run.history) == run.progress.done_steps >= 2
    with pytest.raises(ConfigError, match="clients cannot change in a run that is resumed"):
        wb.resume(run, clients=3)
    with pytest.raises(ConfigError, match="rounds=0"):
        wb.resume(run, rounds=0)


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        ("fedadam", {"eta": 0.01, "beta_1": 0.9}),
        pytest.param("fedavg", {}, marks=pytest.mark.sweep),
        pytest.param("fedavgm", {"server_momentum": 0.5}, marks=pytest.mark.sweep),
        pytest.param("fedadagrad", {"eta": 0.01}, marks=pytest.mark.sweep),
        pytest.param("fedyogi", {"eta": 0.01}, marks=pytest.mark.sweep),
        pytest.param("krum", {"num_malicious_nodes": 1}, marks=pytest.mark.sweep),
    ],
)
def test_a_resumed_run_equals_one_that_was_not_interrupted(
    strategy: str, options: dict[str, float]
) -> None:
    """To the bit, with clients that are drawn and unreachable by the seed."""
    common: dict[str, Any] = {"strategy": strategy, "strategy_options": options}
    _expect_equal({**common, "clients": 8, "fraction": 0.75, "unavailable": 0.1})


@pytest.mark.sweep
@pytest.mark.parametrize(
    "settings",
    [
        {"privacy": "central", "clipping": "adaptive"},
        {"privacy": "local"},
        {"secure_aggregation": True},
    ],
)
def test_a_resumed_private_run_equals_one_that_was_not_interrupted(
    settings: dict[str, Any],
) -> None:
    """Noise, the norm and what is spent of the privacy continue."""
    _expect_equal({**settings, "clients": 4, "fraction": 1.0})


@pytest.mark.sweep
def test_a_round_that_a_stop_cuts_off_is_repeated_from_its_start(digits: Dataset) -> None:
    """It is stopped while the clients evaluate, which takes nearly all of a round here."""
    train = part_of(digits, 32)
    batch = digits.train.batch(np.arange(10_000) % len(digits.train))
    data = Dataset("long", train.train, Split(batch.inputs, batch.targets), digits.classes)
    common: dict[str, Any] = {
        **{"clients": 1, "rounds": 3, "strategy": "fedadam", "strategy_options": {"eta": 0.01}},
        **{"batch_size": 1, "local_steps": 1, "evaluate_every": 3, "checkpoint_every": 100},
    }
    whole = federated(data, **common)
    run = wb.federate("digits-mlp", data, **common)
    wait_for_round(run, 1)
    assert whole.federation is not None
    time.sleep(whole.federation.rounds["seconds"].iloc[1] / 2)
    run.stop()
    run.wait(WAIT_S)
    assert run.status == "stopped"
    resumed = wb.resume(run).wait(WAIT_S)
    assert resumed.progress == (3, 3)
    assert largest_difference(whole, resumed) == 0


def _expect_equal(settings: dict[str, Any]) -> None:
    common = {**settings, "local_steps": 2}
    whole = federated(rounds=4, **common)
    assert whole.federation is not None
    first = federated(rounds=2, **common)
    with pytest.raises(ConfigError, match=r"has taken 2 of 2 rounds.*resume\(run, rounds=4\)"):
        wb.resume(first)
    resumed = wb.resume(first, rounds=4).wait(WAIT_S)
    assert resumed.status == "completed"
    assert largest_difference(whole, resumed) == 0
    assert [*resumed.history["step"]] == [1, 2, 3, 4]
    # NaN in a round in which too few clients answered.
    assert np.array_equal(resumed.history["loss"], whole.history["loss"], equal_nan=True)
    assert resumed.federation is not None
    for name in ("clients", "left_out", "epsilon", "clipping_norm"):
        if name in whole.federation.rounds:
            assert (resumed.federation.rounds[name] == whole.federation.rounds[name]).all(), name

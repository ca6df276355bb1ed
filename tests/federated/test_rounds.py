"""Rounds: what is sent, who trains, which strategy, and what the record says of them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")
import workbench as wb
from tests.federated.running import federated, largest_difference
from workbench.data import Dataset
from workbench.federated import dirichlet


@pytest.mark.sweep
def test_frozen_layers_are_not_sent_and_lora_sends_adapters_alone() -> None:
    everything = federated(clients=2, rounds=1, local_steps=1)
    last = federated(clients=2, rounds=1, local_steps=1, requires_grad=("output.*",))
    adapters = federated(clients=2, rounds=1, local_steps=1, lora={"rank": 2})
    sizes = {}
    for name, run in {"everything": everything, "last": last, "lora": adapters}.items():
        assert run.federation is not None
        sizes[name] = int(run.federation.rounds["received_bytes"].iloc[0])
    parameters = sum(value.size for value in everything.weights().values())
    overhead = 4_000
    assert 2 * 4 * parameters < sizes["everything"] < 2 * 4 * parameters + overhead
    start = wb.load_model("digits-mlp").weights()
    changed = {n for n, value in last.weights().items() if np.abs(value - start[n]).max() > 0}
    assert sizes["last"] < 2 * 4 * sum(start[name].size for name in changed) + overhead
    assert changed
    assert changed != start.keys()
    assert sizes["lora"] < sizes["everything"] / 10


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        pytest.param("fedadam", {"eta": 0.01}, marks=pytest.mark.sweep),
        pytest.param("krum", {"num_malicious_nodes": 1}, marks=pytest.mark.sweep),
        pytest.param("fedavgm", {"server_momentum": 0.5}, marks=pytest.mark.sweep),
        pytest.param("fedadagrad", {"eta": 0.01}, marks=pytest.mark.sweep),
        pytest.param("fedyogi", {"eta": 0.01}, marks=pytest.mark.sweep),
        pytest.param("fedmedian", {}, marks=pytest.mark.sweep),
        pytest.param("fedtrimmedavg", {"beta": 0.2}, marks=pytest.mark.sweep),
        pytest.param("multikrum", {"num_nodes_to_select": 2}, marks=pytest.mark.sweep),
        pytest.param("bulyan", {}, marks=pytest.mark.sweep),
    ],
)
def test_strategies_lower_the_loss(strategy: str, options: dict[str, float]) -> None:
    run = federated(clients=5, rounds=4, strategy=strategy, strategy_options=options)
    losses = run.evaluations["loss"].to_numpy()
    assert losses[-1] < losses[0]


@pytest.mark.sweep
def test_unreachable_clients_are_left_out_by_the_seed() -> None:
    one, other = (federated(clients=6, rounds=3, unavailable=0.5, seed=3) for _ in range(2))
    assert one.federation is not None
    assert other.federation is not None
    frame = one.federation.clients
    out = frame[frame["left_out"] != ""]
    assert set(out["left_out"]) == {"it was unreachable (simulated)."}
    assert 0 < len(out) < 18
    columns = ["round", "client", "left_out"]
    assert frame[columns].equals(other.federation.clients[columns])
    rounds = one.federation.rounds
    assert (rounds["clients"] + rounds["left_out"] == 6).all()
    assert largest_difference(one, other) == 0


@pytest.mark.sweep
def test_a_fraction_of_the_clients_trains_in_each_round() -> None:
    run = federated(clients=8, rounds=2, fraction=0.25)
    assert run.federation is not None
    assert run.federation.rounds["clients"].tolist() == [2, 2]


def test_the_record_of_a_run_is_read_back(digits: Dataset) -> None:
    run = federated(clients=3, rounds=2, split=dirichlet(0.2))
    loaded = wb.load_run(run.id)
    federation = loaded.federation
    assert federation is not None
    assert repr(federation) == "<Federation: 3 clients by dirichlet(0.2), 2 rounds of fedavg>"
    data = federation.data
    assert data["rows"].sum() == len(digits.train)
    assert data.filter(like="class ").to_numpy().sum() == len(digits.train)
    assert len(loaded.plot().axes) == 7
    assert wb.train("digits-mlp", steps=1, evaluate=False).federation is None

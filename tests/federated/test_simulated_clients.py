"""Clients on slow and small devices that drop out and come back, in one run."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")

import workbench as wb

CLIENTS, SEED, SPREAD, TIMEOUT_S = 6, 1175, 1e9, 60.0
"""By this seed the factors are 1 to 3, or above ten million: no step is fast or slow enough to
change who is late."""

UNREACHABLE = "it was unreachable (simulated)."
LATE, SMALL = "it would not answer within 60 s: its device is", "and its device (watch) has 1 MB"
LEFT_OUT = {
    1: ["", SMALL, UNREACHABLE, LATE, UNREACHABLE, UNREACHABLE],
    2: [UNREACHABLE, SMALL, LATE, UNREACHABLE, "", LATE],
}
"""Why each client takes no part in each round. Client 4 comes back in the second."""


def test_clients_are_slow_small_and_come_back_by_the_seed() -> None:
    run = wb.federate(
        "digits-mlp",
        clients=CLIENTS,
        rounds=2,
        local_steps=1,
        seed=SEED,
        unavailable=0.3,
        speed_spread=SPREAD,
        devices=("phone", {"name": "watch", "memory_bytes": 1_000_000}),
        round_timeout_s=TIMEOUT_S,
    ).wait(120)
    federation = run.federation
    assert federation is not None
    clients = federation.clients.set_index(["round", "client"])
    for number, reasons in LEFT_OUT.items():
        for client, reason in enumerate(reasons):
            told = clients.loc[(number, client), "left_out"]
            assert (reason in told) if reason else (told == ""), (number, client, told)
    trained = clients[clients["loss"].notna()]
    assert [*trained.index] == [(1, 0), (2, 4)]
    factors = SPREAD ** np.random.default_rng((SEED, CLIENTS)).random(CLIENTS)
    expected = trained["seconds"] * factors[trained.index.get_level_values("client")]
    np.testing.assert_allclose(trained["simulated_seconds"], expected)
    # A slow device is waited for in training and in evaluation, and no round took that long.
    assert federation.rounds["simulated_seconds"].tolist() == [2 * TIMEOUT_S] * 2
    seconds = federation.rounds["seconds"]
    assert (seconds != federation.rounds["simulated_seconds"]).all()
    labels = [line.get_label() for axes in run.plot().axes for line in axes.get_lines()]
    assert "on devices (simulated)" in labels


@pytest.mark.sweep
def test_a_poisoned_client_ruins_fedavg_and_not_krum() -> None:
    """Through real clients: one of them has inputs a thousand times too large."""
    digits = wb.load_dataset("digits")
    inputs = digits.train.inputs[0].copy()
    who = np.arange(len(inputs)) % 5
    inputs[who == 4] *= 1000
    split = wb.data.Split([inputs], digits.train.target)
    data = wb.Dataset(digits.name, split, digits.test, digits.classes)
    accuracy = {}
    for strategy, options in {"fedavg": {}, "krum": {"num_malicious_nodes": 1}}.items():
        run = wb.federate(
            "digits-mlp",
            data,
            clients=5,
            rounds=4,
            local_epochs=10,
            strategy=strategy,
            strategy_options=options,
            split=wb.federated.groups([str(each) for each in who]),
            optimizer="sgd",
            learning_rate=0.05,
        ).wait(120)
        accuracy[strategy] = run.evaluations["accuracy"].iloc[-1]
    assert accuracy["krum"] > accuracy["fedavg"] + 0.2, accuracy

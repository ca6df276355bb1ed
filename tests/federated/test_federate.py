"""Federated runs against what they must equal, and with clients that fail."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")

import psutil
import torch

import workbench as wb
from workbench.data import Dataset, Split
from workbench.errors import ConfigError, DataError, EngineError, RunError
from workbench.federated import dirichlet, groups
from workbench.runs import Run

WAIT_S = 120
SGD = {"optimizer": "sgd", "learning_rate": 0.05}


def federated(data: Dataset | str = "digits", model: Any = "digits-mlp", **settings: Any) -> Run:
    return wb.federate(model, data, **settings).wait(WAIT_S)


def trained(data: Dataset | str = "digits", model: Any = "digits-mlp", **settings: Any) -> Run:
    return wb.train(model, data, threads=1, evaluate=False, **settings).wait(WAIT_S)


def largest_difference(one: Run, other: Run) -> float:
    first, second = one.weights(), other.weights()
    assert first.keys() == second.keys()
    return max(float(np.abs(first[name] - second[name]).max()) for name in first)


def part_of(data: Dataset, rows: int) -> Dataset:
    """The first rows of the training split."""
    batch = data.train.batch(np.arange(rows))
    return Dataset(data.name, Split(batch.inputs, batch.targets), data.test, data.classes)


def test_one_client_is_training(digits: Dataset) -> None:
    """With SGD, which keeps nothing between rounds."""
    alone = federated(clients=1, rounds=3, **SGD)
    plain = trained(epochs=3, **SGD)
    assert largest_difference(alone, plain) < 1e-6
    assert alone.progress == (3, 3)
    assert len(alone.evaluations) == 3


def test_one_step_of_equal_clients_is_the_mean_gradient(digits: Dataset) -> None:
    data = part_of(digits, 96)
    who = ["a", "b", "c"] * 32
    together = trained(data, steps=1, batch_size=96, **SGD)
    run = federated(
        data, clients=3, rounds=1, batch_size=32, split=groups(who, None), local_steps=1, **SGD
    )
    assert largest_difference(run, together) < 1e-6


@pytest.mark.sweep
def test_clients_count_by_their_rows(digits: Dataset) -> None:
    """A client of 64 rows weighs twice as much as one of 32."""
    data = part_of(digits, 96)
    who = ["a"] * 64 + ["b"] * 32
    together = trained(data, steps=1, batch_size=96, **SGD)
    run = federated(data, clients=2, rounds=1, batch_size=64, split=groups(who), **SGD)
    assert largest_difference(run, together) < 1e-6


@pytest.mark.sweep
def test_rows_of_an_incomplete_batch_count(digits: Dataset) -> None:
    """A client of 80 rows trains with 64 in a pass, and weighs as 80."""
    data = part_of(digits, 112)
    common: dict[str, Any] = {"batch_size": 32, "rounds": 1, **SGD}
    # The one of 32 rows has a single batch, for which the seed of its order does not matter.
    alone = [
        federated(_rows(data, rows), clients=1, **common).weights()
        for rows in (slice(0, 80), slice(80, 112))
    ]
    run = federated(data, clients=2, split=groups(["a"] * 80 + ["b"] * 32), **common)
    assert run.federation is not None
    assert run.federation.clients["rows"].tolist() == [80, 32]
    assert run.federation.clients["samples"].tolist() == [64, 32]
    for name, value in run.weights().items():
        expected = (80 * alone[0][name] + 32 * alone[1][name]) / 112
        assert np.abs(value - expected).max() < 1e-6, name


def test_the_proximal_term_is_pytorchs(digits: Dataset) -> None:
    data = part_of(digits, 128)
    mu, rate = 2.0, 0.05
    run = federated(
        data,
        clients=1,
        rounds=1,
        strategy="fedprox",
        strategy_options={"proximal_mu": mu},
        batch_size=32,
        optimizer="sgd",
        learning_rate=rate,
    )
    module = wb.load_model("digits-mlp").module()
    start = [value.detach().clone() for value in module.parameters()]
    optimizer = torch.optim.SGD(module.parameters(), lr=rate)
    for batch in data.train.batches(32, 0, 1):
        optimizer.zero_grad()
        output = module(*(torch.from_numpy(array) for array in batch.inputs))
        loss = torch.nn.functional.cross_entropy(output, torch.from_numpy(batch.target))
        for value, before in zip(module.parameters(), start, strict=True):
            loss = loss + mu / 2 * (value - before).square().sum()
        loss.backward()
        optimizer.step()
    weights = run.weights()
    for name, value in module.named_parameters():
        assert np.abs(weights[name] - value.detach().numpy()).max() < 1e-6, name


def test_running_statistics_are_averaged_by_rows() -> None:
    """Those of BatchNorm, beside what the strategy aggregates: FedAdam would make them negative."""
    module = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 10)
    )
    rng = np.random.default_rng(0)
    data = wb.Dataset(
        "noise",
        Split([rng.normal(size=(96, 64)).astype(np.float32)], rng.integers(0, 10, 96)),
    )
    model = wb.load_model(module, example_inputs=(data.train.inputs[0][:2],))
    before = module[2].running_var.numpy().copy()
    common: dict[str, Any] = {"batch_size": 32, "local_steps": 1, "rounds": 1, **SGD}
    who = ["a"] * 64 + ["b"] * 32
    alone = [
        federated(_rows(data, rows), model, clients=1, **common).weights()["2.running_var"]
        for rows in (slice(0, 64), slice(64, 96))
    ]
    run = federated(data, model, clients=2, split=groups(who), strategy="fedadam", **common)
    found = run.weights()["2.running_var"]
    assert np.abs(found - before).max() > 1e-3
    # The batches of the second client are drawn by another seed, but it has only one.
    assert np.abs(found - (alone[0] * 64 + alone[1] * 32) / 96).max() < 1e-6


def _rows(data: Dataset, rows: slice) -> Dataset:
    batch = data.train.batch(np.arange(len(data.train))[rows])
    return Dataset(data.name, Split(batch.inputs, batch.targets))


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
        ("fedadam", {"eta": 0.01}),
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


def test_a_killed_client_is_left_out_and_the_round_continues(digits: Dataset) -> None:
    run = wb.federate(
        "digits-mlp", digits, clients=4, rounds=6, local_epochs=400, processes=2, batch_size=8
    )
    client = next(_client_processes(run))
    os.kill(client.pid, signal.SIGKILL)
    _wait_for_round(run, 1)
    run.stop()
    run.wait(WAIT_S)
    assert run.status == "stopped"
    assert run.federation is not None
    first = run.federation.clients.query("round == 1")
    assert first["left_out"].tolist().count("its process was killed by SIGKILL.") == 1
    assert run.federation.rounds["clients"].iloc[0] == 3
    assert np.isfinite(run.history["loss"]).all()


def _client_processes(run: Run) -> Any:
    """Those of a run, as soon as one is there."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        for process in psutil.process_iter(["cmdline"]):
            command = process.info["cmdline"] or []
            if (
                "workbench.flower.client.client_process" in command
                and str(run.folder.path) in command
            ):
                yield process
        time.sleep(0.01)
    pytest.fail("no client process was started")


def _wait_for_round(run: Run, number: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while run.progress.done_steps < number:
        assert time.monotonic() < deadline
        assert not run.ended, run.error
        time.sleep(0.02)


@pytest.mark.sweep
def test_a_late_client_is_left_out(digits: Dataset) -> None:
    """Client 0 has all rows but one: it does not end in time, the other does."""
    who = ["a"] * (len(digits.train) - 1) + ["b"]
    run = federated(
        digits,
        clients=2,
        rounds=1,
        split=groups(who),
        local_epochs=100_000,
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


def test_pause_and_stop() -> None:
    run = wb.federate("digits-mlp", clients=2, rounds=10_000)
    _wait_for_round(run, 2)
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


@pytest.mark.fault
@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"clients": 0}, ConfigError, "clients=0"),
        ({"rounds": "many"}, ConfigError, "rounds='many'"),
        ({"strategy": "fedavgg"}, ConfigError, "'fedavg'"),
        ({"strategy_options": {"proximal_mu": 1}}, ConfigError, "not an option of strategy"),
        ({"fraction": 1.5}, ConfigError, "fraction=1.5"),
        ({"epochs": 3}, ConfigError, "local_epochs="),
        ({"steps": 3}, ConfigError, "rounds="),
        ({"learning_rat": 3}, ConfigError, "learning_rate"),
        ({"split": "dirichlet"}, ConfigError, "one of wb.federated"),
        ({"engine": "pytorch"}, EngineError, "clients are devices"),
        ({"clients": 5000}, DataError, "each client needs one"),
        ({"privacy": "secret"}, ConfigError, "privacy='secret'"),
        ({"privacy": "central", "strategy": "fedadam"}, ConfigError, "privacy='local'"),
        ({"clipping": "adaptive"}, ConfigError, "needs privacy='central'"),
        ({"secure_aggregation": True, "strategy": "krum"}, ConfigError, "compares clients"),
        ({"secure_aggregation": True, "clients": 2}, ConfigError, "needs 3 to 1000"),
        ({"noise_multiplier": 0}, ConfigError, "noise_multiplier=0"),
        ({"devices": ["phonee"]}, ConfigError, "'phone'"),
        ({"speed_spread": 0.5}, ConfigError, "speed_spread=0.5"),
        (
            {"strategy": "bulyan", "clients": 4, "strategy_options": {"num_malicious_nodes": 1}},
            ConfigError,
            "strategy='bulyan' needs 7 or more in a round",
        ),
    ],
)
def test_wrong_settings_are_sentences(
    settings: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        wb.federate("digits-mlp", **settings)
    assert wb.runs().empty

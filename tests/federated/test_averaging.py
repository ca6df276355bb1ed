"""Federated runs against what they must equal: training, mean gradients, weighted means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")
import torch

import workbench as wb
from tests.federated.running import SGD, federated, largest_difference, part_of, rows_of, trained
from workbench.data import Dataset, Split
from workbench.federated import groups


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
    run = federated(data, rounds=1, batch_size=64, split=groups(who), **SGD)
    assert largest_difference(run, together) < 1e-6


@pytest.mark.sweep
def test_rows_of_an_incomplete_batch_count(digits: Dataset) -> None:
    """A client of 80 rows trains with 64 in a pass, and weighs as 80."""
    data = part_of(digits, 112)
    common: dict[str, Any] = {"batch_size": 32, "rounds": 1, **SGD}
    # The one of 32 rows has a single batch, for which the seed of its order does not matter.
    alone = [
        federated(rows_of(data, rows), clients=1, **common).weights()
        for rows in (slice(0, 80), slice(80, 112))
    ]
    run = federated(data, clients=2, split=groups(["a"] * 80 + ["b"] * 32), **common)
    assert run.federation is not None
    assert run.federation.clients["rows"].tolist() == [80, 32]
    assert run.federation.clients["samples"].tolist() == [64, 32]
    for name, value in run.weights().items():
        expected = (80 * alone[0][name] + 32 * alone[1][name]) / 112
        assert np.abs(value - expected).max() < 1e-6, name


@pytest.mark.sweep
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


@pytest.mark.sweep
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
        federated(rows_of(data, rows), model, clients=1, **common).weights()["2.running_var"]
        for rows in (slice(0, 64), slice(64, 96))
    ]
    run = federated(data, model, clients=2, split=groups(who), strategy="fedadam", **common)
    found = run.weights()["2.running_var"]
    assert np.abs(found - before).max() > 1e-3
    # The batches of the second client are drawn by another seed, but it has only one.
    assert np.abs(found - (alone[0] * 64 + alone[1] * 32) / 96).max() < 1e-6

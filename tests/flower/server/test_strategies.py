"""Each strategy aggregates by its own formula: none is FedAvg by another name.

The formulas are written out here in numpy, for two rounds of five or more clients, one of which is
poisoned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")

from flwr.app import ConfigRecord, Message, MetricRecord, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from workbench.flower.client.client_messages import ARRAYS, METRICS, array_record
from workbench.flower.server.strategies import make_strategy
from workbench.settings.federation import STRATEGY_OPTIONS, FederationOptions

CLIENTS, VALUES = 7, 11
POISON = 1000.0

_random = np.random.default_rng(0)
START = _random.normal(size=VALUES).astype(np.float32)
UPDATES = _random.normal(scale=0.1, size=(2, CLIENTS, VALUES))
UPDATES[:, 3] = POISON
"""Of each round and client; client 3 is poisoned."""
ROWS = np.array([5, 1, 2, 4, 3, 2, 1])

Step = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""The next global weights, of those before and of those of the clients."""


@pytest.fixture(autouse=True)
def without_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bulyan collects garbage ten times in two rounds: for seconds with a suite in memory."""
    monkeypatch.setattr("gc.collect", lambda *_: 0)


class Grid:
    """Clients that are always there."""

    def get_node_ids(self) -> list[int]:
        return list(range(2, 2 + CLIENTS))


def by_flower(
    strategy: str,
    options: dict[str, float],
    start: np.ndarray = START,
    of_clients: np.ndarray = UPDATES,
) -> list[np.ndarray]:
    """The global weights after each round."""
    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
    made: Any = make_strategy(
        FederationOptions(strategy=strategy, strategy_options=options, clients=CLIENTS)
    )
    weights, found = array_record({"w": start}), []
    for number, updates in enumerate(of_clients, start=1):
        messages = list(made.configure_train(number, weights, ConfigRecord(), Grid()))
        before = weights["w"].numpy()
        replies = [
            reply(message, before + updates[message.metadata.dst_node_id - 2])
            for message in messages
        ]
        replies.sort(key=lambda each: each.metadata.src_node_id)
        weights, _ = made.aggregate_train(number, replies)
        found.append(weights["w"].numpy())
    return found


def reply(message: Message, weights: np.ndarray) -> Message:
    message.metadata.__dict__["_message_id"] = "1"
    rows = int(ROWS[message.metadata.dst_node_id - 2])
    arrays = array_record({"w": weights.astype(np.float32)})
    metrics = MetricRecord({"num-examples": rows, "loss": 1.0})
    return Message(RecordDict({ARRAYS: arrays, METRICS: metrics}), reply_to=message)


def mean(clients: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.average(clients, axis=0, weights=ROWS)
    return found


def fedavg() -> Step:
    return lambda _, clients: mean(clients)


def fedavgm(rate: float, momentum: float) -> Step:
    velocity = np.zeros(VALUES)

    def step(before: np.ndarray, clients: np.ndarray) -> np.ndarray:
        nonlocal velocity
        velocity = momentum * velocity + before - mean(clients)
        return before - rate * velocity

    return step


def adaptive(second: Callable[[np.ndarray, np.ndarray, int], np.ndarray], **of: float) -> Step:
    """Reddi et al., arXiv:2003.00295, algorithm 2; `second` is the second moment."""
    beta_1, eta, tau = of.get("beta_1", 0.0), of["eta"], of["tau"]
    moment, square, rounds = np.zeros(VALUES), np.zeros(VALUES), 0

    def step(before: np.ndarray, clients: np.ndarray) -> np.ndarray:
        nonlocal moment, square, rounds
        rounds += 1
        delta = mean(clients) - before
        moment = beta_1 * moment + (1 - beta_1) * delta
        square = second(square, delta**2, rounds)
        rate = eta
        if "beta_2" in of:
            # Flower corrects the bias of FedAdam as Adam does, with rounds that count from 2.
            rate *= np.sqrt(1 - of["beta_2"] ** (rounds + 1)) / (1 - beta_1 ** (rounds + 1))
        result: np.ndarray = before + rate * moment / (np.sqrt(square) + tau)
        return result

    return step


def fedmedian() -> Step:
    return lambda _, clients: np.asarray(np.median(clients, axis=0))


def fedtrimmedavg() -> Step:
    """Without the lowest and the highest of seven."""
    return lambda _, clients: np.sort(clients, axis=0)[1:-1].mean(axis=0)


def closest(clients: np.ndarray, count: int) -> np.ndarray:
    """The clients that are nearest to their n - f - 2 nearest, Blanchard et al., 2017; f is 1."""
    distances = np.square(clients[:, None] - clients[None]).sum(axis=2)
    scores = np.sort(distances, axis=1)[:, 1 : CLIENTS - 2].sum(axis=1)
    return np.argsort(scores)[:count]


def multikrum(count: int) -> Step:
    def step(_: np.ndarray, clients: np.ndarray) -> np.ndarray:
        chosen = closest(clients, count)
        return np.asarray(np.average(clients[chosen], axis=0, weights=ROWS[chosen]))

    return step


def bulyan(_: np.ndarray, clients: np.ndarray) -> np.ndarray:
    """Of n - 2f by Krum, the mean of the n - 4f values nearest to the median; f is 1."""
    chosen = clients[closest(clients, CLIENTS - 2)]
    nearest = np.argsort(np.abs(chosen - np.median(chosen, axis=0)), axis=0)[: CLIENTS - 4]
    return np.asarray(np.take_along_axis(chosen, nearest, axis=0).mean(axis=0))


ONE = {"num_malicious_nodes": 1}
MOMENTS = {"eta": 0.3, "beta_1": 0.8, "beta_2": 0.7, "tau": 0.01}

CASES: dict[str, tuple[dict[str, float], Step]] = {
    "fedavg": ({}, fedavg()),
    "fedprox": ({"proximal_mu": 0.5}, fedavg()),
    "fedavgm": ({"server_learning_rate": 0.5, "server_momentum": 0.9}, fedavgm(0.5, 0.9)),
    "fedadagrad": (
        {"eta": 0.3, "tau": 0.01},
        adaptive(lambda v, d, _: v + d, eta=0.3, tau=0.01),
    ),
    "fedadam": (MOMENTS, adaptive(lambda v, d, _: 0.7 * v + 0.3 * d, **MOMENTS)),
    "fedyogi": (
        MOMENTS,
        adaptive(lambda v, d, _: v - 0.3 * d * np.sign(v - d), eta=0.3, beta_1=0.8, tau=0.01),
    ),
    "fedmedian": ({}, fedmedian()),
    "fedtrimmedavg": ({"beta": 0.2}, fedtrimmedavg()),
    "krum": (ONE, multikrum(1)),
    "multikrum": ({**ONE, "num_nodes_to_select": 3}, multikrum(3)),
    "bulyan": (ONE, bulyan),
}
ROBUST = ("fedmedian", "fedtrimmedavg", "krum", "multikrum", "bulyan")


def test_every_strategy_has_its_formula() -> None:
    assert CASES.keys() == STRATEGY_OPTIONS.keys()


@pytest.mark.parametrize("name", CASES)
def test_a_strategy_aggregates_by_its_formula(name: str) -> None:
    options, step = CASES[name]
    before = START
    others = []
    for updates, found in zip(UPDATES, by_flower(name, options), strict=True):
        clients = (before + updates).astype(np.float32)
        expected = step(before.astype(float), clients.astype(float))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-4)
        others.append(np.abs(found - mean(clients)).max())
        before = found.astype(np.float32)
    plain = name in {"fedavg", "fedprox"}
    assert (max(others) < 1e-3) if plain else (min(others) > 1), others


@pytest.mark.parametrize("name", ROBUST)
def test_a_poisoned_client_does_not_count(name: str) -> None:
    options, _ = CASES[name]
    before = START
    honest = np.delete(UPDATES, 3, axis=1)
    for updates, found in zip(honest, by_flower(name, options), strict=True):
        assert np.abs(found - before).max() <= np.abs(updates).max() + 1e-3
        before = found
    poisoned = by_flower("fedavg", {})
    assert np.abs(poisoned[0] - START).max() > POISON / CLIENTS / 2


@pytest.mark.parametrize("name", ["krum", "multikrum", "bulyan"])
def test_updates_that_are_small_beside_the_weights_are_compared(name: str) -> None:
    """As in fine-tuning: in float32 the distance of weights of this size rounds to 0 or to 16."""
    options, step = CASES[name]
    start = (START * 4096).round()
    updates = np.delete(UPDATES[:1], 3, axis=1)
    updates = np.insert(updates, 3, 1.0, axis=1).round(2)
    (found,) = by_flower(name, options, start, updates)
    clients = (start + updates[0]).astype(np.float32)
    expected = step(start.astype(float), clients.astype(float))
    np.testing.assert_allclose(found - start, expected - start, rtol=0, atol=1e-3)

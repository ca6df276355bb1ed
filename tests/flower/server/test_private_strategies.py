"""Flower's wrappers for differential privacy with clients that fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")

from flwr.app import ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from workbench.flower.client.client_messages import ARRAYS, METRICS, array_record
from workbench.flower.server.strategies import make_strategy
from workbench.settings.federation import FederationOptions

START = {"b": np.zeros(3, np.float32), "a": np.ones((2, 2), np.float32)}
LITTLE_NOISE = 1e-6


class Grid:
    """Clients that are always there."""

    def __init__(self, clients: int) -> None:
        self.nodes = list(range(2, 2 + clients))

    def get_node_ids(self) -> list[int]:
        return self.nodes


def configured(clients: int, **options: Any) -> tuple[Any, list[Message]]:
    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
    given = {"privacy": "central", "noise_multiplier": LITTLE_NOISE, "clients": clients}
    strategy: Any = make_strategy(FederationOptions(**{**given, **options}))
    messages = strategy.configure_train(1, array_record(START), ConfigRecord(), Grid(clients))
    return strategy, list(messages)


def reply(message: Message, update: float) -> Message:
    """Weights that differ from the first by `update` in each of 7 values."""
    message.metadata.__dict__["_message_id"] = "1"
    arrays = array_record({name: value + np.float32(update) for name, value in START.items()})
    metrics = MetricRecord({"num-examples": 1, "loss": 1.0, "norm_bit": 0})
    return Message(RecordDict({ARRAYS: arrays, METRICS: metrics}), reply_to=message)


def failed(message: Message) -> Message:
    message.metadata.__dict__["_message_id"] = "1"
    return Message(Error(code=1, reason="it failed"), reply_to=message)


def updates(arrays: ArrayRecord | None) -> np.ndarray:
    assert arrays is not None
    return np.concatenate([(arrays[name].numpy() - START[name]).ravel() for name in START])


def test_updates_are_clipped_and_averaged_equally_though_one_fails() -> None:
    strategy, (one, other, third) = configured(3, clipping_norm=1.0)
    arrays, _ = strategy.aggregate_train(1, [reply(one, 5.0), reply(other, 0.1), failed(third)])
    expected = (1 / np.sqrt(7) + 0.1) / 2
    assert np.abs(updates(arrays) - expected).max() < 1e-4
    assert strategy.aggregate_train(2, [failed(one)]) == (None, None)


def test_noise_is_that_of_the_clients_that_answered() -> None:
    """The standard deviation is the multiplier times the norm over their number."""
    np.random.seed(0)
    strategy, messages = configured(4, clipping_norm=2.0, noise_multiplier=3.0)
    drawn = []
    for _ in range(100):
        arrays, _ = strategy.aggregate_train(1, [reply(each, 0.0001) for each in messages[:2]])
        drawn.append(updates(arrays))
    assert np.std(drawn) == pytest.approx(3.0 * 2.0 / 2, rel=0.1)


@pytest.mark.parametrize("by_client", [False, True])
def test_noise_is_that_of_the_norm_to_which_updates_were_clipped(by_client: bool) -> None:
    """So it does not depend on which share is to be clipped, by which the next norm is chosen."""
    given = {"clipping": "adaptive", "clipping_norm": 2.0, "noise_multiplier": 1.0}
    noise, norms = [], []
    for quantile in (0.1, 0.9):
        strategy, messages = configured(3, **given, secure_aggregation=by_client)
        strategy.target_clipped_quantile = quantile
        np.random.seed(0)
        arrays, _ = strategy.aggregate_train(1, [reply(each, 0.0001) for each in messages])
        noise.append(updates(arrays))
        norms.append(strategy.clipping_norm)
    assert np.array_equal(*noise)
    assert norms[0] / norms[1] == pytest.approx(np.exp(0.2 * 0.8))


@pytest.mark.parametrize("first", [0.01, pytest.param(100.0, marks=pytest.mark.sweep)])
def test_the_norm_adapts_to_the_median_of_the_updates(first: float) -> None:
    np.random.seed(0)
    strategy, messages = configured(
        20, clipping="adaptive", clipping_norm=first, noise_multiplier=0.1
    )
    # Norms of 1 to 20.
    norms = (1 + np.arange(20)) / np.sqrt(7)
    for number in range(1, 100):
        answers = [reply(m, float(n)) for m, n in zip(messages, norms, strict=True)]
        strategy.aggregate_train(number, answers)
    assert 8 < strategy.clipping_norm < 13, strategy.clipping_norm

"""Deployed devices that send anything: the round continues with the others, and says why."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")

from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from workbench.flower.client.client_messages import ARRAYS, CONFIG, METRICS, answer, array_record
from workbench.flower.grids.deployed_grid import DeployedGrid
from workbench.settings.federation import FederationOptions

WEIGHTS = {"w": np.ones(3, np.float32)}
FACTS = {"rows": 5, "loss": 0.5, "samples": 5, "seconds": 0.1, "peak_rss_bytes": 9}

Content = Callable[[], RecordDict | Error]


def good() -> RecordDict:
    return answer(FACTS, WEIGHTS, {})


def no_array() -> RecordDict:
    content = good()
    content[ARRAYS] = ArrayRecord({"w": Array("float32", (3,), "numpy.ndarray", b"no array")})
    return content


def without_measurements() -> RecordDict:
    return answer({"rows": 5, "loss": 0.5}, WEIGHTS, {})


def other_records() -> RecordDict:
    return RecordDict({METRICS: ConfigRecord({"loss": "none"}), CONFIG: MetricRecord({"a": 1})})


def long_error() -> Error:
    return Error(code=1, reason="too much " * 100_000)


class Devices:
    """A grid of Flower whose nodes answer all messages alike."""

    def __init__(self, *contents: Content) -> None:
        self._contents = contents
        self._ids = itertools.count(1)

    def get_node_ids(self) -> list[int]:
        return [7 + client for client in range(len(self._contents))]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        replies = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = str(next(self._ids))
            content = self._contents[message.metadata.dst_node_id - 7]()
            replies.append(Message(content, reply_to=message))
        return replies


def train(*contents: Content, **options: Any) -> tuple[DeployedGrid, list[Message]]:
    """One exchange with devices that answer with `contents`."""
    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
    devices: Any = Devices(*contents)
    settings = FederationOptions(clients=len(contents), round_timeout_s=5, **options)
    grid = DeployedGrid(devices, settings, {}, 10, lambda: False)
    content = RecordDict({ARRAYS: array_record(WEIGHTS), CONFIG: ConfigRecord()})
    asked = [Message(content, node, "train") for node in devices.get_node_ids()]
    return grid, list(grid.send_and_receive(asked))


@pytest.mark.fault
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (no_array, "it sent something that is not an array"),
        (without_measurements, "it sent None as 'samples'"),
        (other_records, "it sent None as its number of rows"),
        (long_error, "too much"),
    ],
)
def test_a_reply_of_anything_leaves_its_device_out(content: Content, reason: str) -> None:
    grid, replies = train(good, content)
    assert [reply.has_error() for reply in replies] == [False, True]
    assert grid.record.trained
    told = grid.record.reason(1)
    assert reason in told
    assert len(told) < 10_000, "it is shown and recorded"


@pytest.mark.fault
def test_secure_aggregation_survives_a_reply_of_anything() -> None:
    """Without the sum the weights are kept; the run continues with the next round."""
    grid, replies = train(good, good, other_records, secure_aggregation=True)
    assert all(reply.has_error() for reply in replies)
    assert not grid.record.trained
    assert "the sum of the weights could not be found" in grid.record.reason(0)

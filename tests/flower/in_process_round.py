"""A written project's two apps, one round between them in this process.

`python -m tests.flower.in_process_round PROJECT` prints what became of it as JSON. A child process
of its own runs it: it trains.
"""

from __future__ import annotations

import io
import itertools
import json
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

import workbench as wb
from workbench.engines.ondevice.engine import OnDeviceEngine
from workbench.flower.client.client_messages import array_record, arrays_of
from workbench.flower.client.simulated_app import packed, unpacked

LABEL = 424242


class Harmful:
    """Pickled, it ends the process that reads it."""

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return sys.exit, (66,)


class Direct(Grid):
    """Hands messages to a `ClientApp` in this process."""

    def __init__(self, app: Any, project: Path, clients: int) -> None:
        self._app, self._project, self._clients = app, project, clients
        self._ids = itertools.count(1)
        self.sent: dict[int, bytes] = dict.fromkeys(range(clients), b"")
        """All that each device sent, as Flower's bytes."""

    def set_run(self, run: Run) -> None:
        raise NotImplementedError

    @property
    def run(self) -> Run:
        raise NotImplementedError

    def create_message(self, *_: Any) -> Message:  # type: ignore[override]
        raise NotImplementedError

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        raise NotImplementedError

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        raise NotImplementedError

    def get_node_ids(self) -> list[int]:
        return [100 + client for client in range(self._clients)]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        return [self.answer(message, hostile=True) for message in messages]

    def answer(self, message: Message, *, hostile: bool = False) -> Message:
        message.metadata.__dict__["_message_id"] = str(next(self._ids))
        client = message.metadata.dst_node_id - 100
        own: dict[str, Any] = {
            "client-folder": str(self._project / "client"),
            "data-folder": str(self._project / "data" / str(client)),
            "client-number": client,
        }
        reply: Message = self._app(message, Context(1, 100 + client, own, RecordDict(), {}))
        if reply.has_error():
            self.sent[client] += str(reply.error.reason).encode()
            return reply
        sent = packed(reply.content).tobytes()
        self.sent[client] += sent
        content = unpacked(np.frombuffer(sent, np.uint8))
        if hostile and client in HOSTILE and message.metadata.message_type == "train":
            content["arrays"] = array_record(HOSTILE[client](arrays_of(content, "arrays")))
        return Message(content, reply_to=message)


Arrays = dict[str, np.ndarray]


def not_finite(weights: Arrays) -> Arrays:
    name, value = next(iter(weights.items()))
    return {**weights, name: np.full_like(value, np.nan)}


def other_shape(weights: Arrays) -> Arrays:
    name, value = next(iter(weights.items()))
    return {**weights, name: value[:-1].copy()}


def other_version(weights: Arrays) -> Arrays:
    """Of a model with one more layer."""
    return {**weights, "added.weight": np.zeros(3, np.float32)}


HOSTILE: dict[int, Callable[[Arrays], Arrays]] = {2: not_finite, 3: other_shape, 4: other_version}
"""Changes of the trained weights by hostile clients, by the client's number."""


def main() -> None:
    project = Path(sys.argv[1])
    sys.path.insert(0, str(project))
    client = import_module("federated_app.client_app").app
    server = import_module("federated_app.server_app").app
    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
    # One of six is not there.
    grid = Direct(client, project, 5)
    context = Context(1, 1, {}, RecordDict(), {"server-folder": str(project / "server")})
    server(grid, context)
    weights = wb.load_run(project / "server").weights()
    name = next(iter(weights))
    result = {
        "harmful": refused(grid, {**weights, name: Harmful()}),
        "shape": refused(grid, {**weights, name: np.zeros(3, np.float32)}),
        "version": refused(grid, {**weights, "of.another.version": np.zeros(3, np.float32)}),
        "rows_sent": rows_sent(grid, project),
        "failing": [failing(grid, weights), unusable_label(grid, project, weights)],
        "torch": "torch" in sys.modules,
    }
    print(json.dumps(result))


def rows_sent(grid: Direct, project: Path) -> int:
    """How many rows of its data are among what a device sent."""
    found = 0
    for client, sent in grid.sent.items():
        assert sent, "it took part"
        for split in ("train", "test"):
            rows = np.load(project / "data" / str(client) / f"{split}-input-0.npy")
            found += sum(row.tobytes() in sent for row in rows)
    return found


def failing(grid: Direct, weights: Arrays) -> str:
    """A device's reply after an error whose text contains a row."""

    def train_step(_: Any, batch: Any) -> float:
        raise ValueError(f"cannot use {batch.inputs[0][0].tolist()}")

    with patch.object(OnDeviceEngine, "train_step", train_step):
        return refused(grid, weights)


def unusable_label(grid: Direct, project: Path, weights: Arrays) -> str:
    """A device's reply after an error in which native code names a label."""
    path = project / "data" / "0" / "train-target.npy"
    np.save(path, np.full_like(np.load(path), LABEL))
    return refused(grid, weights)


def refused(grid: Direct, arrays: Mapping[str, Any]) -> str:
    """A client's reply to these weights."""
    record = ArrayRecord({name: _array(value) for name, value in arrays.items()})
    content = RecordDict({"arrays": record, "config": ConfigRecord({"round": 1})})
    reply = grid.answer(Message(content, dst_node_id=100, message_type="train"))
    return str(reply.error.reason) if reply.has_error() else ""


def _array(value: Any) -> Array:
    if isinstance(value, np.ndarray):
        return Array(value)
    packed = io.BytesIO()
    # What numpy writes of an array of objects: a pickle.
    np.lib.format.write_array_header_1_0(
        packed, {"descr": "|O", "fortran_order": False, "shape": (1,)}
    )
    packed.write(pickle.dumps(np.array([value], object)))
    return Array(dtype="object", shape=(1,), stype="numpy.ndarray", data=packed.getvalue())


if __name__ == "__main__":
    main()

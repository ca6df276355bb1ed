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
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

import workbench as wb


class Harmful:
    """Pickled, it ends the process that reads it."""

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return sys.exit, (66,)


class Direct(Grid):
    """Hands messages to a `ClientApp` in this process."""

    def __init__(self, app: Any, project: Path, clients: int) -> None:
        self._app, self._project, self._clients = app, project, clients
        self._ids = itertools.count(1)

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
        return [self.answer(message) for message in messages]

    def answer(self, message: Message) -> Message:
        message.metadata.__dict__["_message_id"] = str(next(self._ids))
        client = message.metadata.dst_node_id - 100
        own: dict[str, Any] = {
            "client-folder": str(self._project / "client"),
            "data-folder": str(self._project / "data" / str(client)),
            "client-number": client,
        }
        reply: Message = self._app(message, Context(1, 100 + client, own, RecordDict(), {}))
        return reply


def main() -> None:
    project = Path(sys.argv[1])
    sys.path.insert(0, str(project))
    client = import_module("federated_app.client_app").app
    server = import_module("federated_app.server_app").app
    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
    # One of three is not there.
    grid = Direct(client, project, 2)
    context = Context(1, 1, {}, RecordDict(), {"server-folder": str(project / "server")})
    server(grid, context)
    weights = wb.load_run(project / "server").weights()
    name = next(iter(weights))
    result = {
        "harmful": refused(grid, {**weights, name: Harmful()}),
        "shape": refused(grid, {**weights, name: np.zeros(3, np.float32)}),
        "version": refused(grid, {**weights, "of.another.version": np.zeros(3, np.float32)}),
        "torch": "torch" in sys.modules,
    }
    print(json.dumps(result))


def refused(grid: Direct, arrays: dict[str, Any]) -> str:
    """What a client says to these weights."""
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

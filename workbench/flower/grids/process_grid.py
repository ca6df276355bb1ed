"""Clients in processes of this machine: no SuperLink, no sockets."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from flwr.app import Error, Message
from flwr.supercore.task_identity import TaskIdentity
from typing_extensions import override

from workbench.flower.client.client_messages import (
    ARRAYS,
    CONFIG,
    REFUSED,
    STATISTICS,
    arrays_of,
    facts_of,
)
from workbench.flower.client.simulated_app import CONTENT, packed, unpacked
from workbench.flower.client.simulated_devices import SimulatedDevices
from workbench.flower.grids.client_pool import Answered, ClientPool, ClientTask
from workbench.flower.grids.grid import SERVER, ClientGrid, Reply
from workbench.settings.federation import FederationOptions

FIRST_CLIENT = 2
"""The node id of client 0."""


class ProcessGrid(ClientGrid):
    """Reaches the clients of a run in a `ClientPool`."""

    def __init__(
        self,
        pool: ClientPool,
        options: FederationOptions,
        seed: int,
        rows: list[int],
        tested: list[bool],
        statistics: dict[str, np.ndarray],
        stop_requested: Callable[[], bool],
    ) -> None:
        """Create a grid.

        Args:
            pool: where clients run.
            options: of the run.
            seed: of the clients that are unavailable, and of their devices.
            rows: training rows of each client.
            tested: which clients have test rows.
            statistics: see `ClientGrid`.
            stop_requested: whether to stop waiting for replies.
        """
        TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = SERVER
        super().__init__(options, statistics, max(rows))
        self._pool = pool
        self._seed = seed
        self._tested = tested
        self._stop_requested = stop_requested
        self._devices = SimulatedDevices(options, seed)
        self._message_ids = itertools.count(1)
        self._by_message = options.secure_aggregation or options.privacy == "local"
        self._available: list[int] = []
        self.begin_round(1)

    @override
    def begin_round(self, number: int) -> None:
        super().begin_round(number)
        # Flower draws noise by numpy's generator: a simulated run repeats, also a resumed one.
        np.random.seed([self._seed, number])
        drawn = np.random.default_rng((self._seed, number)).random(self.options.clients)
        available = np.flatnonzero(drawn >= self.options.unavailable)
        # One remains: with none, Flower waits for clients without end.
        self._available = [int(n) for n in available] or [int(np.argmax(drawn))]
        for client in sorted(set(range(self.options.clients)) - set(self._available)):
            self.record.leave_out(client, "it was unreachable (simulated).")

    @override
    def get_node_ids(self) -> Iterable[int]:
        return [FIRST_CLIENT + client for client in self._available]

    @override
    def client_number(self, node: int) -> int:
        return node - FIRST_CLIENT

    @override
    def ask(self, messages: Mapping[int, Message], timeout_s: float) -> list[Reply]:
        asked = {
            client: message
            for client, message in messages.items()
            if message.metadata.message_type != "evaluate" or self._tested[client]
        }
        make = self._message_task if self._by_message else _task
        tasks = [make(client, message) for client, message in asked.items()]
        answers = self._pool.run(tasks, timeout_s, self._stop_requested)
        return [_reply(answer) for answer in answers]

    @override
    def exchange(self, messages: Iterable[Message], timeout_s: float) -> list[Message]:
        asked = {self.client_number(each.metadata.dst_node_id): each for each in messages}
        tasks = [self._message_task(client, message) for client, message in asked.items()]
        found = []
        for answer in self._pool.run(tasks, timeout_s, self._stop_requested):
            client = answer.task.client
            self.record.count_bytes(answer.sent_bytes, answer.received_bytes)
            if answer.error:
                self.record.leave_out(client, answer.error)
                reply = Message(Error(code=REFUSED, reason=answer.error), reply_to=asked[client])
            else:
                reply = Message(unpacked(answer.arrays[CONTENT]), reply_to=asked[client])
            found.append(reply)
        return found

    def _message_task(self, client: int, message: Message) -> ClientTask:
        # As Flower's own grids number them: a reply names the message that it answers.
        message.metadata.__dict__["_message_id"] = str(next(self._message_ids))
        metadata = message.metadata
        facts = {
            "task": "message",
            "client": client,
            "node": metadata.dst_node_id,
            "type": metadata.message_type,
        }
        return ClientTask(client, facts, {CONTENT: packed(message.content)})

    @override
    def device_seconds(self, reply: Reply) -> float | None:
        measured = "seconds" in reply.facts
        return self._devices.seconds(reply.client, reply.facts) if measured else None

    @override
    def device_problem(self, reply: Reply) -> str:
        return self._devices.problem(reply.client, reply.facts)


def _task(client: int, message: Message) -> ClientTask:
    """A message without Flower's records, for clients that do without Flower."""
    message.metadata.__dict__["_message_id"] = "1"
    config: dict[str, Any] = dict(message.content.config_records[CONFIG])
    facts = {
        "task": message.metadata.message_type.partition(".")[0],
        "client": client,
        "round": config["round"],
        # Sent by FedProx alone.
        "proximal_mu": config.get("proximal-mu", 0.0),
    }
    return ClientTask(client, facts, arrays_of(message.content, ARRAYS, STATISTICS))


def _reply(answer: Answered) -> Reply:
    client, facts, arrays = answer.task.client, answer.facts, dict(answer.arrays)
    if not answer.error and answer.task.facts["task"] == "message":
        content = unpacked(arrays[CONTENT])
        facts, arrays = facts_of(content), arrays_of(content, ARRAYS, STATISTICS)
    return Reply(client, facts, arrays, answer.error, answer.sent_bytes, answer.received_bytes)

"""Flower's `Grid` over client processes of this machine: no SuperLink, no sockets.

A strategy of Flower asks the grid which clients can be reached and sends them messages. Of a reply
that does not fit, the strategy sees an error, so it aggregates the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity
from typing_extensions import override

from workbench.flower.client_pool import ClientPool, Reply, Task
from workbench.flower.round_record import RoundRecord
from workbench.settings.federation import FederationOptions

SERVER = 1
"""The node id, run id and task id of the server, which Flower's messages carry."""

FIRST_CLIENT = 2
"""The node id of client 0."""

REFUSED = 1
"""The code of every error reply; the reason is in its text."""


class ProcessGrid(Grid):
    """Reaches the clients of a run in a `ClientPool`.

    Attributes:
        record: of the current round.
    """

    def __init__(
        self,
        pool: ClientPool,
        options: FederationOptions,
        seed: int,
        tested: list[bool],
        statistics: dict[str, np.ndarray],
        stop_requested: Callable[[], bool],
    ) -> None:
        """Create a grid.

        Args:
            pool: where clients run.
            options: of the run.
            seed: of the clients that are unavailable.
            tested: which clients have test rows.
            statistics: running statistics, as of BatchNorm, that travel beside what the strategy
                aggregates: a weighted mean of them is meaningful, an optimizer step is not.
            stop_requested: whether to stop waiting for replies.
        """
        TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = SERVER
        self._pool = pool
        self._options = options
        self._seed = seed
        self._tested = tested
        self._stop_requested = stop_requested
        self._run = Run.create_empty(SERVER)
        self._message_ids = itertools.count(1)
        self.statistics = statistics
        self.record = RoundRecord(0)
        self._available: list[int] = []
        self.begin_round(1)

    def begin_round(self, number: int) -> None:
        """Start the record of a round, and draw which clients can be reached in it."""
        self.record = RoundRecord(number)
        drawn = np.random.default_rng((self._seed, number)).random(self._options.clients)
        available = np.flatnonzero(drawn >= self._options.unavailable)
        # One remains: with none, Flower waits for clients without end.
        self._available = [int(n) for n in available] or [int(np.argmax(drawn))]
        for client in sorted(set(range(self._options.clients)) - set(self._available)):
            self.record.leave_out(client, "it was unreachable (simulated).")

    @override
    def set_run(self, run: Run) -> None:
        self._run = run

    @property
    @override
    def run(self) -> Run:
        return self._run

    @override
    def get_node_ids(self) -> Iterable[int]:
        return [FIRST_CLIENT + client for client in self._available]

    @override
    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    @override
    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        raise RuntimeError("Strategies of Flower use send_and_receive.")

    @override
    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        raise RuntimeError("Strategies of Flower use send_and_receive.")

    @override
    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        sent: dict[int, Message] = {}
        tasks: list[Task] = []
        for message in messages:
            client = message.metadata.dst_node_id - FIRST_CLIENT
            task = message.metadata.message_type.partition(".")[0]
            if task == "evaluate" and not self._tested[client]:
                continue
            # As Flower's own grids number them: a reply names the message that it answers.
            message.metadata.__dict__["_message_id"] = str(next(self._message_ids))
            sent[client] = message
            tasks.append(self._task(client, task, message.content))
        timeout_s = self._options.round_timeout_s if timeout is None else timeout
        replies = self._pool.run(tasks, timeout_s, self._stop_requested)
        if tasks and tasks[0].facts["task"] == "train":
            self._average_statistics(replies)
        return [self._message(reply, sent[reply.task.client]) for reply in replies]

    def _task(self, client: int, task: str, content: RecordDict) -> Task:
        # Some strategies compute in float64.
        weights = {
            name: array.numpy().astype(np.float32, copy=False)
            for record in content.array_records.values()
            for name, array in record.items()
        }
        config = dict(next(iter(content.config_records.values()), ConfigRecord()))
        # Sent by FedProx alone.
        proximal_mu = config.get("proximal-mu", 0.0)
        assert isinstance(proximal_mu, int | float)
        facts = {
            "task": task,
            "client": client,
            "round": self.record.number,
            "proximal_mu": proximal_mu,
        }
        return Task(client, facts, {**weights, **self.statistics})

    def _message(self, reply: Reply, question: Message) -> Message:
        """The reply as the strategy sees it, recorded."""
        problem = reply.error or unfit(reply.task, reply.facts, reply.arrays)
        self.record.add(reply, problem)
        if problem:
            return Message(Error(code=REFUSED, reason=problem), reply_to=question)
        metrics = MetricRecord(
            {"num-examples": int(reply.facts["rows"]), "loss": float(reply.facts["loss"])}
        )
        content: dict[str, Any] = {"metrics": metrics}
        if reply.arrays:
            trained = {n: Array(a) for n, a in reply.arrays.items() if n not in self.statistics}
            content["arrays"] = ArrayRecord(trained)
        return Message(RecordDict(content), reply_to=question)

    def _average_statistics(self, replies: list[Reply]) -> None:
        fit = [
            each
            for each in replies
            if not each.error and not unfit(each.task, each.facts, each.arrays)
        ]
        total = sum(each.facts["rows"] for each in fit)
        for name, before in self.statistics.items():
            if fit:
                mean = sum(each.arrays[name] * (each.facts["rows"] / total) for each in fit)
                self.statistics[name] = np.asarray(mean, before.dtype)


def unfit(task: Task, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Why a reply cannot be used, as a sentence; else empty."""
    rows, loss = facts.get("rows"), facts.get("loss")
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        return f"it sent {rows!r} as its number of rows."
    if not isinstance(loss, int | float) or not math.isfinite(loss):
        return f"its loss is {loss!r}."
    expected = task.arrays if task.facts["task"] == "train" else {}
    if missing := sorted(expected.keys() - arrays.keys()):
        return f"it sent no value of {missing[0]!r}."
    if unknown := sorted(arrays.keys() - expected.keys()):
        return f"it sent {unknown[0]!r}, which was not requested."
    problems = (_unfit_array(name, array, expected[name]) for name, array in arrays.items())
    return next(filter(None, problems), "")


def _unfit_array(name: str, array: np.ndarray, expected: np.ndarray) -> str:
    if array.shape != expected.shape or array.dtype != expected.dtype:
        return (
            f"it sent {name!r} as {array.dtype} of shape {list(array.shape)}, not "
            f"{expected.dtype} of shape {list(expected.shape)}."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return f"it sent a value of {name!r} that is not finite."
    return ""

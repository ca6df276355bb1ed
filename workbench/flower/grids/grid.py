"""Flower's `Grid` with clients that may fail: replies are checked and recorded.

A strategy of Flower asks the grid which clients can be reached and sends them messages. Of a reply
that does not fit, the strategy sees an error, so it aggregates the others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from flwr.app import ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from typing_extensions import override

from workbench.flower.client.client_messages import (
    ARRAYS,
    CONFIG,
    METRICS,
    REFUSED,
    ROWS,
    array_record,
    question,
)
from workbench.flower.grids.reply_check import unfit
from workbench.flower.round_record import RoundRecord
from workbench.flower.secure_aggregation import secure_mean
from workbench.settings.federation import FederationOptions

SERVER = 1
"""The run id and task id of the server, which Flower's messages carry."""


class Reply(NamedTuple):
    """Reply of a client, or why there is none."""

    client: int
    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]
    error: str
    """Why there is no answer, as a sentence; else empty."""
    sent_bytes: int = 0
    received_bytes: int = 0


class ClientGrid(Grid):
    """Reaches the clients of a run.

    Attributes:
        record: of the current round.
        statistics: running statistics, as of BatchNorm, that travel beside what the strategy
            aggregates: a weighted mean of them is meaningful, an optimizer step is not.
        selected: clients that were asked to train in the current round.
    """

    def __init__(
        self, options: FederationOptions, statistics: dict[str, np.ndarray], most_rows: int
    ) -> None:
        """Create a grid.

        Args:
            options: of the run.
            statistics: their first values.
            most_rows: largest number of rows of a client, for secure aggregation.
        """
        self.options = options
        self.statistics = statistics
        self.record = RoundRecord(0)
        self.selected: set[int] = set()
        self._most_rows = 1 if options.privacy == "central" else most_rows
        self._run = Run.create_empty(SERVER)

    def begin_round(self, number: int) -> None:
        """Start the record of a round."""
        self.record = RoundRecord(number)
        self.selected = set()

    @abstractmethod
    def client_number(self, node: int) -> int:
        """The client of a node, counted from 0."""

    @abstractmethod
    def ask(self, messages: Mapping[int, Message], timeout_s: float) -> list[Reply]:
        """Send a message to each client and wait for the answers, in the order of the clients."""

    @abstractmethod
    def exchange(self, messages: Iterable[Message], timeout_s: float) -> list[Message]:
        """The same with Flower's own messages, of secure aggregation; records bytes alone."""

    @override
    def set_run(self, run: Run) -> None:
        self._run = run

    @property
    @override
    def run(self) -> Run:
        return self._run

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
        sent = {
            self.client_number(message.metadata.dst_node_id): self._with_round(message)
            for message in messages
        }
        sent = {client: message for client, message in sent.items() if message is not None}
        if not sent:
            return []
        timeout_s = self.options.round_timeout_s if timeout is None else timeout
        training = next(iter(sent.values())).metadata.message_type.startswith("train")
        if training:
            self.selected = set(sent)
        if training and self.options.secure_aggregation:
            replies = self._ask_securely(sent, timeout_s)
        else:
            replies = self.ask(sent, timeout_s)
        weights = _weights(next(iter(sent.values())))
        expected = {**weights, **self.statistics} if training else {}
        checked = [(reply, self._problem(reply, expected, training)) for reply in replies]
        if training:
            checked = self._refuse_too_few(checked)
            self._average_statistics([reply for reply, problem in checked if not problem])
        return [
            self._message(reply, problem, sent[reply.client])
            for reply, problem in checked
            if training or reply.error or reply.facts.get("rows") != 0
        ]

    def _with_round(self, message: Message) -> Message:
        """The message with all that a client needs, in float32: some strategies use float64."""
        given = message.content.config_records.get(CONFIG, ConfigRecord())
        config = {**given, "round": self.record.number}
        content = question(_weights(message), self.statistics, config)
        metadata = message.metadata
        return Message(content, metadata.dst_node_id, metadata.message_type)

    def _ask_securely(self, sent: dict[int, Message], timeout_s: float) -> list[Reply]:
        """The mean as the answer of each client that is in it, beside its own numbers."""
        mean = secure_mean(
            self.exchange,
            {message.metadata.dst_node_id: message for message in sent.values()},
            round_number=self.record.number,
            most_rows=self._most_rows,
            timeout_s=timeout_s,
        )
        problem = "too few clients answered to find the sum of their weights."
        if mean.error:
            problem = f"the sum of the weights could not be found from the replies: {mean.error}"
        replies = []
        for client, message in sent.items():
            facts = mean.facts.get(message.metadata.dst_node_id)
            if mean.arrays is not None and facts is not None:
                self.record.take_in(client)
                replies.append(Reply(client, facts, mean.arrays, ""))
            else:
                reason = self.record.reason(client) or problem
                replies.append(Reply(client, {}, {}, reason))
        return replies

    def _problem(self, reply: Reply, expected: dict[str, np.ndarray], training: bool) -> str:
        """Why a reply is not used, recorded; else empty."""
        if not training and not reply.error and reply.facts.get("rows") == 0:
            return ""
        problem = reply.error or unfit(expected, reply.facts, reply.arrays, training=training)
        seconds = self.device_seconds(reply)
        if seconds is not None:
            self.record.wait(min(seconds, self.options.round_timeout_s), training)
        if training and not problem:
            problem = self.device_problem(reply) or self._unclippable(reply, expected)
        self.record.add(reply.client, reply.facts, training, problem, seconds)
        self.record.count_bytes(reply.sent_bytes, reply.received_bytes)
        return problem

    def _refuse_too_few(self, checked: list[tuple[Reply, str]]) -> list[tuple[Reply, str]]:
        """All replies are refused where the strategy needs more: Flower skips such a round."""
        needed, strategy = self.options.fewest_clients, self.options.strategy
        count = sum(not problem for _, problem in checked)
        if count >= needed:
            return checked
        problem = f"{strategy!r} needs {needed} clients in a round, and {count} answered."
        for reply, known in checked:
            if not known:
                self.record.discard(reply.client, problem)
        return [(reply, known or problem) for reply, known in checked]

    def _unclippable(self, reply: Reply, expected: dict[str, np.ndarray]) -> str:
        """Why noise cannot be fitted to a reply: Flower divides by the norm of its update."""
        private = self.options.privacy == "central" and not self.options.secure_aggregation
        if private and all(np.array_equal(reply.arrays[name], expected[name]) for name in expected):
            return "its update is zero, which has no norm to clip."
        return ""

    @abstractmethod
    def device_seconds(self, reply: Reply) -> float | None:
        """How long the client's simulated device would have taken; None for a real one, and where
        nothing is known."""

    @abstractmethod
    def device_problem(self, reply: Reply) -> str:
        """Why the client's simulated device would not have answered; else empty."""

    def _message(self, reply: Reply, problem: str, asked: Message) -> Message:
        """The reply as the strategy sees it."""
        if problem:
            return Message(Error(code=REFUSED, reason=problem), reply_to=asked)
        facts = reply.facts
        # Noise hides a client only if none counts for more than another.
        rows = 1 if self.options.privacy == "central" else int(facts["rows"])
        metrics: dict[str, Any] = {ROWS: rows, "loss": float(facts["loss"])}
        if "norm_bit" in facts:
            metrics["norm_bit"] = int(facts["norm_bit"])
        content: dict[str, Any] = {METRICS: MetricRecord(metrics)}
        if reply.arrays:
            # In the order that was sent: Flower's clipping goes by position.
            names = asked.content.array_records[ARRAYS]
            content[ARRAYS] = array_record({name: reply.arrays[name] for name in names})
        return Message(RecordDict(content), reply_to=asked)

    def _average_statistics(self, replies: list[Reply]) -> None:
        total = sum(reply.facts["rows"] for reply in replies)
        for name, before in self.statistics.items():
            if replies:
                mean = sum(each.arrays[name] * (each.facts["rows"] / total) for each in replies)
                self.statistics[name] = np.asarray(mean, before.dtype)


def _weights(message: Message) -> dict[str, np.ndarray]:
    return {
        name: array.numpy().astype(np.float32, copy=False)
        for name, array in message.content.array_records[ARRAYS].items()
    }

"""Clients on other machines, which Flower's SuperLink reaches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from flwr.app import Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid
from typing_extensions import override

from workbench.errors import EngineError, shortened_problem
from workbench.flower.client.client_messages import ARRAYS, STATISTICS, arrays_of, facts_of
from workbench.flower.client.simulated_app import packed
from workbench.flower.grids.grid import ClientGrid, Reply
from workbench.settings.federation import FederationOptions

POLL_S = 0.5
GONE = "it is not connected."


class DeployedGrid(ClientGrid):
    """Reaches the nodes that are connected to a SuperLink; each is a client."""

    def __init__(
        self,
        grid: Grid,
        options: FederationOptions,
        statistics: dict[str, np.ndarray],
        most_rows: int,
        stop_requested: Callable[[], bool],
    ) -> None:
        """Wait until as many nodes are connected as there are to be clients, or the time is over.

        Args:
            grid: Flower's, of a `ServerApp`.
            options: of the run.
            statistics: see `ClientGrid`.
            most_rows: see `ClientGrid`.
            stop_requested: whether to stop waiting.

        Raises:
            EngineError: no node is connected in time.
        """
        super().__init__(options, statistics, most_rows)
        self._grid = grid
        self._stop_requested = stop_requested
        self._numbers: dict[int, int] = {}
        self._connected(options.clients)
        self.begin_round(1)

    @override
    def begin_round(self, number: int) -> None:
        super().begin_round(number)
        connected = {self._numbers[node] for node in self._connected(1)}
        for client in sorted(set(self._numbers.values()) - connected):
            self.record.leave_out(client, GONE)

    @override
    def get_node_ids(self) -> Iterable[int]:
        return self._connected(1)

    def _connected(self, wanted: int) -> list[int]:
        """The nodes of clients; nodes beyond the number of clients take no part."""
        deadline = time.monotonic() + self.options.round_timeout_s
        while True:
            for node in sorted(self._grid.get_node_ids()):
                if len(self._numbers) < self.options.clients:
                    self._numbers.setdefault(node, len(self._numbers))
            connected = [node for node in self._grid.get_node_ids() if node in self._numbers]
            over = time.monotonic() > deadline or self._stop_requested()
            if len(connected) >= wanted or (connected and over):
                return sorted(connected)
            if over:
                raise EngineError(
                    f"No client is connected after {self.options.round_timeout_s:g} s "
                    "(round_timeout_s). Start SuperNodes first; README.md of the app has the "
                    "commands."
                )
            time.sleep(POLL_S)

    @override
    def client_number(self, node: int) -> int:
        return self._numbers[node]

    @override
    def ask(self, messages: Mapping[int, Message], timeout_s: float) -> list[Reply]:
        answers = self._by_client(
            messages.values(), self._grid.send_and_receive(messages.values(), timeout=timeout_s)
        )
        replies = []
        for client, message in sorted(messages.items()):
            sent = len(packed(message.content))
            answer = answers.get(client)
            if answer is None:
                late = f"it did not answer within {timeout_s:g} s."
                replies.append(Reply(client, {}, {}, late, sent))
            elif answer.has_error():
                replies.append(Reply(client, {}, {}, _reason(answer), sent))
            else:
                replies.append(_read(client, answer.content, sent))
        return replies

    @override
    def exchange(self, messages: Iterable[Message], timeout_s: float) -> list[Message]:
        asked = list(messages)
        replies = list(self._grid.send_and_receive(asked, timeout=timeout_s))
        answers = self._by_client(asked, replies)
        for message in asked:
            client = self.client_number(message.metadata.dst_node_id)
            answer = answers.get(client)
            received = 0
            if answer is None:
                self.record.leave_out(client, f"it did not answer within {timeout_s:g} s.")
            elif answer.has_error():
                self.record.leave_out(client, _reason(answer))
            else:
                received = len(packed(answer.content))
            self.record.count_bytes(len(packed(message.content)), received)
        return replies

    def _by_client(
        self, asked: Iterable[Message], replies: Iterable[Message]
    ) -> dict[int, Message]:
        """The reply of each client, by the message that it answers: an error of the SuperLink, of
        a node that is gone, does not come from that node."""
        clients = {
            each.metadata.message_id: self.client_number(each.metadata.dst_node_id)
            for each in asked
        }
        return {
            clients[reply.metadata.reply_to_message_id]: reply
            for reply in replies
            if reply.metadata.reply_to_message_id in clients
        }

    @override
    def device_seconds(self, reply: Reply) -> float | None:
        return None

    @override
    def device_problem(self, reply: Reply) -> str:
        return ""


def _read(client: int, content: RecordDict, sent: int) -> Reply:
    """The reply of a device, which may hold anything."""
    received = len(packed(content))
    try:
        arrays = arrays_of(content, ARRAYS, STATISTICS)
    except Exception as error:  # numpy's, of bytes that are no array
        problem = f"it sent something that is not an array: {type(error).__name__}: {error}"
        return Reply(client, {}, {}, shortened_problem(problem), sent, received)
    return Reply(client, facts_of(content), arrays, "", sent, received)


def _reason(reply: Message) -> str:
    if reply.error.code == ErrorCode.NODE_UNAVAILABLE:
        return GONE
    # A device writes it: it may be of any length.
    reason = shortened_problem(reply.error.reason or "")
    return reason or f"Flower reports error {reply.error.code}."

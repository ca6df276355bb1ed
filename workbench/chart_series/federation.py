"""The rounds of a federated run: metrics of the global weights, and results of each client."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

MOST_LINES = 32
"""Clients with a line each; for more, the lowest, median and highest value are kept."""

MOST_ROUNDS = 512
"""Rounds of the arrays, evenly over the run, the last one included."""

MOST_LEFT_OUT = 200
"""Reasons that are kept, those of the last rounds."""

COLUMNS = (
    *("round", "value", "loss", "trained", "left_out"),
    *("sent_bytes", "received_bytes", "seconds", "simulated_seconds", "epsilon"),
)
"""Rows of `FederationSeries.rounds`; `value` is of the global weights, bytes and epsilon are of
all rounds so far."""

SPREAD = ("lowest", "median", "highest")


class SkippedClient(NamedTuple):
    """A client that took no part in a round."""

    round: int
    client: int
    reason: str


class FederationSeries:
    """Series of a federated run's rounds, a few numbers for each.

    Attributes:
        measure: quantity of `value` and the lines: "accuracy", or "loss" where there is none.
        left_out: the last clients that took no part, and why.
        left_out_count: of all rounds.
    """

    def __init__(self, clients: int) -> None:
        """Make an empty series of `clients` clients."""
        self._each = clients <= MOST_LINES
        self._rows: list[list[float]] = []
        self._lines: list[np.ndarray] = []
        self._reached: dict[int, tuple[float, float]] = {}
        self._bytes = np.zeros(2)
        self.measure = "loss"
        self.left_out: deque[SkippedClient] = deque(maxlen=MOST_LEFT_OUT)
        self.left_out_count = 0
        self.names = [f"client {each}" for each in range(clients)] if self._each else [*SPREAD]
        """Names of the lines."""
        self.states = np.zeros((3, clients))
        """(3, clients): the last value of each client on its own test rows, NaN before it; the
        rounds that it trained in; and those that it was left out of."""
        self.states[0] = np.nan

    def __len__(self) -> int:
        """Number of rounds."""
        return len(self._rows)

    def add(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Add rounds and evaluations; returns whether there were any."""
        found = False
        for event in events:
            match event.get("event"):
                case "evaluation":
                    accuracy, loss = event.get("accuracy"), event.get("loss")
                    if accuracy is not None:
                        self.measure = "accuracy"
                    value = _number(loss if accuracy is None else accuracy)
                    self._reached[int(event["step"])] = value, _number(loss)
                    found = True
                case "round":
                    self._add_round(event)
                    found = True
        return found

    def _add_round(self, event: Mapping[str, Any]) -> None:
        number = int(event["step"])
        values = np.full(self.states.shape[1], np.nan)
        trained = left_out = 0
        for client in event["clients"]:
            at = int(client["client"])
            if not 0 <= at < len(values):
                continue  # of a record that was changed by hand
            if client.get("accuracy") is not None:
                self.measure = "accuracy"
            found = client.get("accuracy")
            values[at] = _number(client.get("test_loss") if found is None else found)
            if "loss" in client:
                trained += 1
                self.states[1, at] += 1
            if "left_out" in client:
                left_out += 1
                self.states[2, at] += 1
                self.left_out.append(SkippedClient(number, at, str(client["left_out"])))
        self.left_out_count += left_out
        self.states[0] = np.where(np.isfinite(values), values, self.states[0])
        self._bytes += event["sent_bytes"], event["received_bytes"]
        self._rows.append(
            [
                number,
                trained,
                left_out,
                *self._bytes,
                event["seconds"],
                _number(event.get("simulated_seconds")),
                _number(event.get("epsilon")),
            ]
        )
        self._lines.append(values if self._each else _spread(values))

    @property
    def rounds(self) -> np.ndarray:
        """(10, rounds) float64, see `COLUMNS`; NaN where it is not known."""
        rows = [self._rows[at] for at in self._shown]
        numbers = np.array(rows, np.float64).reshape(-1, len(COLUMNS) - 2).T
        nothing = (np.nan, np.nan)
        reached = [self._reached.get(int(number), nothing) for number in numbers[0]]
        return np.vstack([numbers[:1], np.array(reached).reshape(-1, 2).T, numbers[1:]])

    @property
    def lines(self) -> np.ndarray:
        """(lines, rounds) float64: the global weights on the test rows of each client."""
        lines = [self._lines[at] for at in self._shown]
        return np.array(lines, np.float64).reshape(-1, len(self.names)).T

    @property
    def _shown(self) -> list[int]:
        """Indices of the rounds of the arrays."""
        every = -(-len(self._rows) // MOST_ROUNDS) or 1
        return [*range((len(self._rows) - 1) % every, len(self._rows), every)]


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _spread(values: np.ndarray) -> np.ndarray:
    known = values[np.isfinite(values)]
    return np.quantile(known, [0, 0.5, 1]) if len(known) else np.full(3, np.nan)

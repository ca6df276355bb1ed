"""The record of a round."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np


class RoundRecord:
    """Collects what the clients of a round did, in the words of the event "round".

    Attributes:
        privacy: epsilon after the round, and the clipping norm in it; empty without privacy.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._started = time.perf_counter()
        self._sent_bytes = 0
        self._received_bytes = 0
        self._clients: dict[int, dict[str, Any]] = {}
        self._waited_s: dict[bool, float] = {}
        self.privacy: dict[str, float] = {}

    def count_bytes(self, sent_bytes: int, received_bytes: int) -> None:
        """Count what travelled."""
        self._sent_bytes += sent_bytes
        self._received_bytes += received_bytes

    def wait(self, seconds: float, training: bool) -> None:
        """Count that the round would have waited so long for a simulated device.

        All train at the same time, and then all evaluate: the slowest of each counts.
        """
        self._waited_s[training] = max(self._waited_s.get(training, 0.0), seconds)

    def add(
        self,
        client: int,
        facts: Mapping[str, Any],
        training: bool,
        problem: str,
        device_s: float | None = None,
    ) -> None:
        """Record the reply of a client.

        Args:
            client: its number.
            facts: what it tells.
            training: whether it was asked to train, or to evaluate.
            problem: why it is not used, else empty.
            device_s: how long its simulated device would have taken.
        """
        if problem:
            self.leave_out(client, problem if training else f"Evaluation: {problem}")
            return
        found = self._client(client)
        if training:
            found |= {name: facts[name] for name in ("rows", "samples", "loss", "seconds")}
            found["peak_rss_bytes"] = facts["peak_rss_bytes"]
            if device_s is not None:
                found["simulated_seconds"] = device_s
        else:
            found |= {"test_loss": facts["loss"], "accuracy": facts.get("accuracy")}

    def reason(self, client: int) -> str:
        """Why a client takes no part, if it does not; else empty."""
        return str(self._clients.get(client, {}).get("left_out", ""))

    def left_out(self) -> list[int]:
        """The clients that take no part."""
        return [client for client in sorted(self._clients) if self.reason(client)]

    def leave_out(self, client: int, reason: str) -> None:
        """Record that a client takes no part, with the reason as a sentence."""
        self._client(client).setdefault("left_out", reason)

    def take_in(self, client: int) -> None:
        """Record that a client takes part: it was lost when its weights were in the sum already."""
        self._client(client).pop("left_out", None)

    def discard(self, client: int, reason: str) -> None:
        """Record that a client's answer is not used, though it fits."""
        self._clients[client] = {"client": client, "left_out": reason}

    def _client(self, client: int) -> dict[str, Any]:
        return self._clients.setdefault(client, {"client": client})

    @property
    def trained(self) -> bool:
        """Whether a client's weights are in the result."""
        return bool(self._weights())

    @property
    def samples(self) -> int:
        """Rows that clients trained with, counted as often as they were."""
        return sum(each.get("samples", 0) for each in self._clients.values())

    @property
    def loss(self) -> float:
        """Mean training loss of the clients, weighted by rows; NaN if none took part."""
        losses = [each["loss"] for each in self._clients.values() if "loss" in each]
        weights = self._weights()
        if not weights:
            return math.nan
        return float(np.average(losses, weights=weights))

    def _weights(self) -> list[int]:
        return [each["rows"] for each in self._clients.values() if "loss" in each]

    def event(self) -> dict[str, Any]:
        """The fields of the event."""
        return {
            "step": self.number,
            "seconds": time.perf_counter() - self._started,
            **({"simulated_seconds": sum(self._waited_s.values())} if self._waited_s else {}),
            "sent_bytes": self._sent_bytes,
            "received_bytes": self._received_bytes,
            **self.privacy,
            "clients": [self._clients[client] for client in sorted(self._clients)],
        }

"""Flower's strategies that go by distances between clients, exact for small updates."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp import strategy as flower
from typing_extensions import override

from workbench.flower.client.client_messages import ARRAYS, array_record, arrays_of


class _OfUpdates(flower.FedAvg):
    """Aggregates the updates of the clients, in float64, in the place of their weights.

    Flower 1.41 has the squared distance of weights as |x|² + |y|² - 2xy in their float32, of which
    rounding leaves nothing where updates are a ten-thousandth of the weights, as in fine-tuning.
    """

    @override
    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        self._before = {name: array.numpy() for name, array in arrays.items()}
        return super().configure_train(server_round, arrays, config, grid)

    @override
    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        received = list(replies)
        for reply in received:
            if not reply.has_error():
                weights = arrays_of(reply.content, ARRAYS)
                reply.content[ARRAYS] = array_record(
                    {
                        name: np.subtract(weights[name], before, dtype=np.float64)
                        for name, before in self._before.items()
                    }
                )
        update, metrics = super().aggregate_train(server_round, received)
        if update is None:
            return None, metrics
        after = {
            name: np.asarray(before + update[name].numpy(), before.dtype)
            for name, before in self._before.items()
        }
        return array_record(after), metrics


class Krum(_OfUpdates, flower.Krum):
    """Flower's, by distances of updates."""


class MultiKrum(_OfUpdates, flower.MultiKrum):
    """Flower's, by distances of updates."""


class Bulyan(_OfUpdates, flower.Bulyan):
    """Flower's, by distances of updates."""

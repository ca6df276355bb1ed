"""Secure aggregation by Flower's SecAgg+: the server sees the weighted mean of clients alone.

Flower's workflow is of its older interface, without names of weights. Here it takes the place of
one exchange of messages of a strategy of today.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.common import FitIns, FitRes, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server import Grid, LegacyContext
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD
from flwr.server.workflow.constant import Key as WorkflowKey
from flwr.server.workflow.secure_aggregation.secaggplus_workflow import WorkflowState
from typing_extensions import override

from workbench.errors import shortened_problem
from workbench.flower.client.client_messages import ARRAYS, CONFIG, array_record, arrays_of
from workbench.settings.federation import LARGEST_SECURE_WEIGHT

THRESHOLD = 0.67
"""Share of the clients of a round whose answers are needed to find the sum."""


class Exchange(Protocol):
    """Sends messages of Flower and waits for the replies."""

    def __call__(self, messages: Iterable[Message], timeout_s: float) -> list[Message]: ...


class SecureMean(NamedTuple):
    """Result of a secure aggregation, as the server sees it."""

    arrays: dict[str, np.ndarray] | None
    """The weighted mean; None if too few clients answered."""
    facts: dict[int, dict[str, Any]]
    """The numbers of each node whose weights are in the mean."""
    error: str
    """Why Flower could not find the mean, if a reply was not what it expects; else empty."""


def secure_mean(
    exchange: Exchange,
    messages: Mapping[int, Message],
    *,
    round_number: int,
    most_rows: float,
    timeout_s: float,
) -> SecureMean:
    """The mean of what the nodes answer to training messages, weighted by rows.

    Args:
        exchange: how messages are sent.
        messages: by node; their content is the same.
        round_number: from 1.
        most_rows: a client counts for as many rows at most: larger sums would overflow.
        timeout_s: for each of the four stages.
    """
    content = next(iter(messages.values())).content
    arrays = arrays_of(content, ARRAYS)
    mean = _MeanStrategy(messages, arrays, most_rows)
    state = RecordDict(
        {
            MAIN_CONFIGS_RECORD: ConfigRecord({WorkflowKey.CURRENT_ROUND: round_number}),
            MAIN_PARAMS_RECORD: _unnamed(arrays),
        }
    )
    context = LegacyContext(Context(1, 1, {}, state, {}), strategy=cast(Any, mean))
    workflow = _Workflow(
        num_shares=1.0,
        reconstruction_threshold=THRESHOLD,
        max_weight=most_rows,
        clipping_range=LARGEST_SECURE_WEIGHT,
        timeout=timeout_s,
    )
    grid = SimpleNamespace(
        send_and_receive=lambda sent, *, timeout: exchange(sent, timeout_s=timeout)
    )
    try:
        workflow(cast(Any, grid), context)
    except Exception as error:
        # Flower reads a client's reply as if it had to be one of its own.
        return SecureMean(None, {}, shortened_problem(f"{type(error).__name__}: {error}"))
    return SecureMean(mean.found, mean.facts, "")


class _Workflow(SecAggPlusWorkflow):
    """Flower's, in which a client may be lost at any stage.

    Flower 1.41 asks for key shares of clients that were lost before they had shared their keys.
    No other has them, so each fails, and the sum is lost.
    """

    @override
    def share_keys_stage(self, grid: Grid, context: LegacyContext, state: WorkflowState) -> bool:
        enough: bool = super().share_keys_stage(grid, context, state)
        # Masks are between these alone: the others are in no sum, and nothing is to be removed.
        state.sampled_node_ids = set(state.active_node_ids)
        for neighbours in state.nid_to_neighbours.values():
            neighbours.intersection_update(state.sampled_node_ids)
        return enough


class _MeanStrategy:
    """The methods of a strategy that the workflow calls: requests to the clients, and the mean."""

    def __init__(
        self, messages: Mapping[int, Message], arrays: dict[str, np.ndarray], most_rows: float
    ) -> None:
        self._messages = messages
        self._most_rows = most_rows
        self._arrays = arrays
        self.found: dict[str, np.ndarray] | None = None
        self.facts: dict[int, dict[str, Any]] = {}

    def configure_fit(self, *_: object) -> list[tuple[Any, FitIns]]:
        names = json.dumps(list(self._arrays))
        parameters = ndarrays_to_parameters(list(self._arrays.values()))
        added: dict[str, Any] = {"names": names, "most_rows": self._most_rows}
        return [
            (
                SimpleNamespace(node_id=node),
                FitIns(parameters, {**cast(Any, message.content.config_records[CONFIG]), **added}),
            )
            for node, message in self._messages.items()
        ]

    def aggregate_fit(
        self, _: int, results: list[tuple[Any, FitRes]], __: object
    ) -> tuple[None, dict[str, Any]]:
        values = parameters_to_ndarrays(results[0][1].parameters)
        self.found = {
            name: np.asarray(value, before.dtype)
            for (name, before), value in zip(self._arrays.items(), values, strict=True)
        }
        self.facts = {proxy.node_id: dict(result.metrics) for proxy, result in results}
        return None, {}


def _unnamed(arrays: Mapping[str, np.ndarray]) -> ArrayRecord:
    return array_record({str(index): value for index, value in enumerate(arrays.values())})

"""The series of a federated run are bounded, for any number of clients and rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench.chart_series.federation import (
    COLUMNS,
    MOST_LEFT_OUT,
    MOST_LINES,
    MOST_ROUNDS,
    FederationSeries,
    SkippedClient,
)


def round_of(step: int, clients: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    traffic = {"sent_bytes": 30, "received_bytes": 10}
    return {"event": "round", "step": step, "seconds": 2.0, **traffic, "clients": clients, **fields}


def trained(client: int, accuracy: float | None) -> dict[str, Any]:
    return {"client": client, "loss": 1.0, "test_loss": 0.5, "accuracy": accuracy}


def column(series: FederationSeries, name: str) -> list[float]:
    values: list[float] = series.rounds[COLUMNS.index(name)].tolist()
    return values


def test_rounds_clients_and_reasons() -> None:
    series = FederationSeries(2)
    assert (len(series), series.rounds.shape, series.lines.shape) == (0, (10, 0), (2, 0))
    gone = {"client": 1, "left_out": "it was not there"}
    first = round_of(1, [trained(0, 0.25), gone], epsilon=1.5, simulated_seconds=8.5)
    evaluation = {"event": "evaluation", "step": 2, "loss": 0.75, "accuracy": 0.625}
    assert series.add([first, round_of(2, [trained(1, 0.5)]), evaluation])
    assert not series.add([{"event": "checkpoint", "step": 2}])
    assert series.measure == "accuracy"
    np.testing.assert_array_equal(
        series.rounds,
        [
            [1, 2], [np.nan, 0.625], [np.nan, 0.75], [1, 1], [1, 0],
            [30, 60], [10, 20], [2, 2], [8.5, np.nan], [1.5, np.nan],
        ],
    )  # fmt: skip
    assert series.names == ["client 0", "client 1"]
    np.testing.assert_array_equal(series.lines, [[0.25, np.nan], [np.nan, 0.5]])
    np.testing.assert_array_equal(series.states, [[0.25, 0.5], [1, 1], [0, 1]])
    assert [*series.left_out] == [SkippedClient(1, 1, "it was not there")]
    assert series.left_out_count == 1


def test_without_accuracy_it_is_the_loss() -> None:
    series = FederationSeries(1)
    evaluation = {"event": "evaluation", "step": 1, "loss": 0.75, "accuracy": None}
    series.add([round_of(1, [trained(0, None)]), evaluation])
    assert series.measure == "loss"
    assert column(series, "value") == column(series, "loss") == [0.75]
    assert series.lines.tolist() == [[0.5]]


@pytest.mark.parametrize("rounds", [MOST_ROUNDS, MOST_ROUNDS + 1, 3 * MOST_ROUNDS - 1])
def test_many_rounds_are_thinned_evenly_up_to_the_last(rounds: int) -> None:
    series = FederationSeries(1)
    gone = [{"client": 0, "left_out": "late"}]
    series.add([round_of(step, gone) for step in range(1, rounds + 1)])
    shown = column(series, "round")
    assert len(shown) <= MOST_ROUNDS
    assert shown[-1] == rounds
    assert len({*np.diff(shown)}) == 1
    assert column(series, "sent_bytes") == [30 * step for step in shown], "of all rounds so far"
    assert series.lines.shape == (1, len(shown))
    assert (len(series.left_out), series.left_out_count) == (MOST_LEFT_OUT, rounds)


def test_of_many_clients_the_spread_is_kept() -> None:
    clients = MOST_LINES + 1
    series = FederationSeries(clients)
    series.add([round_of(1, [trained(each, each / clients) for each in range(clients)])])
    series.add([round_of(2, [])])
    assert series.names == ["lowest", "median", "highest"]
    np.testing.assert_allclose(series.lines[:, 0], [0, 16 / 33, 32 / 33])
    assert np.isnan(series.lines[:, 1]).all()


def test_a_client_that_there_is_not_is_passed_over() -> None:
    series = FederationSeries(1)
    series.add([round_of(1, [trained(7, 0.5), {"client": -1, "left_out": "x"}])])
    assert column(series, "trained") == column(series, "left_out") == [0]

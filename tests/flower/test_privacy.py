"""Secure aggregation and noise: what leaves a client, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")

from flwr.app import ConfigRecord, Message, RecordDict

import workbench as wb
from workbench.errors import ConfigError, RunError
from workbench.flower.client.client_messages import ARRAYS, CONFIG, array_record, arrays_of
from workbench.flower.client.simulated_app import STATE, packed
from workbench.flower.grids.client_pool import ClientPool
from workbench.flower.grids.process_grid import FIRST_CLIENT, ProcessGrid
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run
from workbench.settings.federation import FederationOptions

WAIT_S = 120
CLIENTS = 4
COMMON: dict[str, Any] = {"clients": CLIENTS, "rounds": 1, "local_steps": 3, "optimizer": "sgd"}


def federated(**settings: Any) -> Run:
    return wb.federate("digits-mlp", **{**COMMON, **settings}).wait(WAIT_S)


@pytest.fixture(scope="module")
def secure_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        return federated(secure_aggregation=True)


@pytest.fixture(scope="module")
def six_clients(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        return federated(clients=6, secure_aggregation=True).folder


class Recorded(ProcessGrid):
    """Keeps all that clients send."""

    def __init__(self, pool: ClientPool, folder: RunFolder, **changes: Any) -> None:
        record = folder.read_spec()["federation"]
        options = FederationOptions.model_validate({**record["options"], **changes})
        rows = [client["rows"] for client in record["clients"]]
        super().__init__(pool, options, 0, rows, [True] * len(rows), {}, lambda: False)
        self.folder = folder
        self.sent: list[bytes] = []
        self.stage = 0
        self.fails: dict[int, list[int]] = {}
        """The clients that fail in a stage of secure aggregation, from 0."""

    def exchange(self, messages: Iterable[Message], timeout_s: float) -> list[Message]:
        for client in self.fails.get(self.stage, ()):
            # The bytes that it keeps between the stages are no longer Flower's.
            (self.folder.client_path(client) / STATE).write_bytes(b"\xff")
        self.stage += 1
        replies = super().exchange(messages, timeout_s)
        self.sent += [packed(each.content).tobytes() for each in replies if not each.has_error()]
        return replies

    def train(self, weights: dict[str, np.ndarray]) -> list[Message]:
        content = RecordDict({ARRAYS: array_record(weights), CONFIG: ConfigRecord()})
        nodes = [FIRST_CLIENT + client for client in range(self.options.clients)]
        asked = [Message(content, dst_node_id=node, message_type="train") for node in nodes]
        return list(self.send_and_receive(asked, timeout=WAIT_S))


def test_the_server_sees_the_sum_alone_and_a_client_may_fail(secure_run: Run) -> None:
    """Neither a row nor the weights of a client leave it: all that it sends is recorded."""
    folder, start = secure_run.folder, wb.load_model("digits-mlp").weights()
    pool = ClientPool(folder, 2)
    try:
        grid = Recorded(pool, folder)
        replies = grid.train(start)
        plain = Recorded(pool, folder, secure_aggregation=False).train(start)
        rows = [np.load(folder.client_path(n) / "train-input-0.npy") for n in range(CLIENTS)]
        # It fails when the others count on it: its keys are shared already.
        (folder.client_path(2) / "data.json").unlink()
        failing = Recorded(pool, folder)
        with_failure = failing.train(start)
    finally:
        pool.close()
    assert len(grid.sent) == 4 * CLIENTS, "four stages"
    everything = b"".join(grid.sent)
    for client in rows:
        for row in client:
            assert row.tobytes() not in everything
    alone = [arrays_of(reply.content, ARRAYS) for reply in plain]
    for weights in alone:
        for value in weights.values():
            assert value.tobytes() not in everything
    counts = [reply.content.metric_records["metrics"]["num-examples"] for reply in plain]
    assert largest_difference(mean_of(replies), weighted(alone, counts)) < 1e-4
    assert not list(folder.path.glob(f"clients/*/{STATE}")), "keys are for one round"
    failed = [reply for reply in with_failure if reply.has_error()]
    assert len(failed) == 1
    assert "when it read its rows" in str(failed[0].error.reason)
    assert "when it read its rows" in failing.record.reason(2)
    others = [n for n in range(CLIENTS) if n != 2]
    expected = weighted([alone[n] for n in others], [counts[n] for n in others])
    assert largest_difference(mean_of(with_failure), expected) < 1e-4


@pytest.mark.fault
def test_weights_out_of_the_range_of_the_sums_are_not_clipped(secure_run: Run) -> None:
    """A mean of weights that were cut off would train another model, in silence."""
    start = wb.load_model("digits-mlp").weights()
    name = next(iter(start))
    start[name].flat[0] = 8.5
    pool = ClientPool(secure_run.folder, 2)
    try:
        grid = Recorded(pool, secure_run.folder)
        replies = grid.train(start)
    finally:
        pool.close()
    assert all(reply.has_error() for reply in replies)
    assert grid.record.reason(0) == (
        f"a value of {name!r} is beyond ±8, the range of secure aggregation."
    )


@pytest.mark.fault
@pytest.mark.parametrize(
    ("fails", "in_the_mean"),
    [
        pytest.param({0: [2]}, [0, 1, 3, 4, 5], marks=pytest.mark.sweep),
        pytest.param({1: [2]}, [0, 1, 3, 4, 5], marks=pytest.mark.sweep),
        pytest.param({0: [0], 2: [5]}, [1, 2, 3, 4], marks=pytest.mark.sweep),
        pytest.param({1: [0], 2: [5]}, [1, 2, 3, 4], marks=pytest.mark.sweep),
        pytest.param({2: [0, 5]}, [1, 2, 3, 4], marks=pytest.mark.sweep),
        pytest.param({1: [3], 3: [4]}, [0, 1, 2, 4, 5], marks=pytest.mark.sweep),
        pytest.param({0: [1], 1: [2], 2: [3]}, [], marks=pytest.mark.sweep),
    ],
)
def test_a_client_may_be_lost_at_any_stage(
    six_clients: RunFolder, fails: dict[int, list[int]], in_the_mean: list[int]
) -> None:
    """The mean is that of the others, and of those whose weights were in the sum already."""
    start = wb.load_model("digits-mlp").weights()
    pool = ClientPool(six_clients, 2)
    try:
        alone = Recorded(pool, six_clients, secure_aggregation=False).train(start)
        grid = Recorded(pool, six_clients)
        grid.fails = fails
        replies = grid.train(start)
    finally:
        pool.close()
    for path in six_clients.path.glob(f"clients/*/{STATE}"):
        path.unlink()
    found = [n for n, reply in enumerate(replies) if not reply.has_error()]
    assert found == in_the_mean
    assert [n for n in range(6) if not grid.record.reason(n)] == in_the_mean
    if found:
        weights = [arrays_of(alone[n].content, ARRAYS) for n in found]
        rows = [alone[n].content.metric_records["metrics"]["num-examples"] for n in found]
        assert largest_difference(mean_of(replies), weighted(weights, rows)) < 1e-4


@pytest.mark.sweep
def test_local_noise_is_added_to_a_clipped_update_before_it_leaves() -> None:
    """The server adds none: what a round changes is the mean of what the clients sent."""
    norm, multiplier = 5e-5, 2.0
    start = wb.load_model("digits-mlp").weights()

    def change(**settings: Any) -> np.ndarray:
        weights = federated(**settings).weights()
        return np.concatenate([(weights[name] - value).ravel() for name, value in start.items()])

    local: dict[str, Any] = {"privacy": "local", "clipping_norm": norm}
    assert np.linalg.norm(change()) > 5 * norm
    assert np.linalg.norm(change(**local, noise_multiplier=1e-5)) <= 1.05 * norm
    drawn = change(**local, noise_multiplier=multiplier)
    np.testing.assert_allclose(drawn.std(), multiplier * norm / np.sqrt(CLIENTS), rtol=0.05)


def mean_of(replies: list[Message]) -> dict[str, np.ndarray]:
    """The mean that the replies report."""
    found = [arrays_of(each.content, ARRAYS) for each in replies if not each.has_error()]
    assert all(largest_difference(each, found[0]) == 0 for each in found)
    return found[0]


def weighted(weights: list[dict[str, np.ndarray]], rows: list[Any]) -> dict[str, np.ndarray]:
    return {
        name: np.average([each[name] for each in weights], axis=0, weights=rows)
        for name in weights[0]
    }


def largest_difference(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    return max(float(np.abs(one[name] - other[name]).max()) for name in one)


@pytest.mark.parametrize(
    ("options", "epsilons"),
    [
        ({"privacy": "central", "clipping": "adaptive"}, [4.377, 6.573]),
        pytest.param(
            {"privacy": "local", "secure_aggregation": True}, [9.997, 15.456],
            marks=pytest.mark.sweep,
        ),
        pytest.param(
            {"privacy": "central", "secure_aggregation": True}, [4.377, 6.573],
            marks=pytest.mark.sweep,
        ),
        pytest.param(
            {"privacy": "central", "secure_aggregation": True, "clipping": "adaptive"},
            [4.377, 6.573], marks=pytest.mark.sweep,
        ),
        pytest.param({"privacy": "local"}, [9.997, 15.456], marks=pytest.mark.sweep),
    ],
)  # fmt: skip
def test_privacy_is_recorded_by_round(options: dict[str, Any], epsilons: list[float]) -> None:
    """Local noise hides which of two updates a client has, twice as far apart."""
    run = federated(**options, rounds=2, noise_multiplier=1.0, clipping_norm=1e-4, seed=2)
    assert run.federation is not None
    rounds = run.federation.rounds
    assert rounds["clients"].tolist() == [CLIENTS] * 2
    np.testing.assert_allclose(rounds["epsilon"], epsilons, atol=1e-3)
    norms = rounds["clipping_norm"].tolist()
    # All updates are longer.
    assert norms[0] == 1e-4
    adaptive = options.get("clipping") == "adaptive"
    assert (norms[1] > 1e-4) if adaptive else (norms[1] == 1e-4)


@pytest.mark.sweep
def test_a_private_run_repeats() -> None:
    for privacy in ("central", "local"):
        one, other = (federated(privacy=privacy, seed=3).weights() for _ in range(2))
        assert largest_difference(one, other) == 0, privacy


def test_local_privacy_is_spent_on_updates_that_are_sent_but_not_used() -> None:
    """Krum needs five clients, and one is unreachable."""
    krum = {"strategy": "krum", "strategy_options": {"num_malicious_nodes": 1}, "clients": 5}
    run = wb.federate("digits-mlp", **{**COMMON, **krum}, privacy="local", unavailable=0.3, seed=1)
    with pytest.raises(RunError, match="needs 5 clients in a round, and 4 answered"):
        run.wait(WAIT_S)
    assert run.federation is not None
    assert run.federation.rounds["clients"].tolist() == [0]
    np.testing.assert_allclose(run.federation.rounds["epsilon"], 9.997, atol=1e-3)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("privacy", "secure"), [("central", False), ("central", True), ("local", False)]
)
def test_an_update_of_zero_is_left_out(privacy: str, secure: bool) -> None:
    """Flower divides by its norm."""
    options = {"privacy": privacy, "secure_aggregation": secure, "learning_rate": 1e-30}
    run = wb.federate("digits-mlp", **{**COMMON, **options})
    with pytest.raises(
        RunError, match="4 of 4 clients were left out, client 0: its update is zero"
    ):
        run.wait(WAIT_S)
    assert run.federation is not None
    assert run.federation.rounds["clients"].tolist() == [0]
    if privacy == "central":
        assert run.federation.rounds["epsilon"].tolist() == [0.0]
    start = wb.load_model("digits-mlp").weights()
    assert largest_difference(run.weights(), start) == 0


@pytest.mark.fault
def test_running_statistics_are_not_hidden_and_refused() -> None:
    with pytest.raises(ConfigError, match="is a running statistic of the clients' rows"):
        wb.federate("digits-cnn", clients=3, privacy="central")

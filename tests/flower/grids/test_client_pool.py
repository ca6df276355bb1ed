"""Replies of clients: their content, and which are refused."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")

import workbench as wb
from workbench.flower.grids.client_pool import ClientPool, ClientTask
from workbench.flower.grids.reply_check import unfit
from workbench.run_folder.run_folder import RunFolder

WAIT_S = 120


@pytest.fixture(scope="module")
def federated_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        return wb.federate("digits-mlp", clients=3, rounds=1, local_steps=2).wait(WAIT_S).folder


def task(client: int, what: str, weights: dict[str, np.ndarray]) -> ClientTask:
    facts = {"task": what, "client": client, "round": 1, "proximal_mu": 0.0}
    return ClientTask(client, facts, weights)


def test_no_row_leaves_a_client(federated_run: RunFolder) -> None:
    """A reply is weights by name, and a few numbers; none of its bytes are those of a row."""
    run = wb.load_run(federated_run.path)
    weights = run.weights()
    pool = ClientPool(federated_run, 1)
    try:
        tasks = [
            task(client, what, weights) for client in range(3) for what in ("train", "evaluate")
        ]
        replies = pool.run(tasks, WAIT_S, lambda: False)
        (process,) = map(psutil.Process, pool.pids())
        loaded = {library.path for library in process.memory_maps()}
    finally:
        pool.close()
    assert len(replies) == 6
    assert any("onnxruntime" in path for path in loaded)
    assert not any("libtorch" in path for path in loaded), "a device has no torch"
    measured = {"seconds", "peak_rss_bytes"}
    for reply in replies:
        assert reply.error == ""
        if reply.task.facts["task"] == "train":
            assert reply.arrays.keys() == weights.keys()
            assert reply.facts.keys() == {"rows", "samples", "loss"} | measured
        else:
            assert not reply.arrays
            assert reply.facts.keys() == {"rows", "loss", "accuracy"} | measured
        assert all(isinstance(value, int | float) for value in reply.facts.values())
        sent = b"".join(array.tobytes() for array in reply.arrays.values())
        for split in ("train", "test"):
            path = federated_run.client_path(reply.task.client) / f"{split}-input-0.npy"
            for row in np.load(path):
                assert row.tobytes() not in sent


def test_an_error_of_a_client_is_a_reply(federated_run: RunFolder) -> None:
    wrong = {"no.such.weight": np.zeros(3, np.float32)}
    pool = ClientPool(federated_run, 2)
    try:
        (reply,) = pool.run([task(0, "train", wrong)], WAIT_S, lambda: False)
        assert "no.such.weight" in reply.error
        (reply,) = pool.run([task(99, "train", {})], WAIT_S, lambda: False)
        assert "failed with DataError when it read its rows" in reply.error
    finally:
        pool.close()
    assert pool.pids() == []


def test_a_stop_ends_the_wait(federated_run: RunFolder) -> None:
    pool = ClientPool(federated_run, 1)
    try:
        replies = pool.run([task(0, "train", {}), task(1, "train", {})], WAIT_S, lambda: True)
    finally:
        pool.close()
    assert len(replies) == 2
    assert all(reply.error for reply in replies)


GOOD: dict[str, Any] = {"rows": 5, "loss": 0.5, "samples": 10, "seconds": 0.1, "peak_rss_bytes": 9}
WEIGHTS = {"w": np.zeros((2, 3), np.float32)}


@pytest.mark.fault
@pytest.mark.parametrize(
    ("facts", "arrays", "sentence"),
    [
        ({**GOOD, "rows": 0}, WEIGHTS, "0 as its number of rows"),
        ({**GOOD, "rows": True}, WEIGHTS, "True as its number of rows"),
        ({**GOOD, "rows": "9"}, WEIGHTS, "'9' as its number of rows"),
        ({**GOOD, "loss": float("nan")}, WEIGHTS, "its loss is nan"),
        ({**GOOD, "loss": None}, WEIGHTS, "its loss is None"),
        ({**GOOD, "rows": 2**62}, WEIGHTS, "4611686018427387904 as its number of rows"),
        ({**GOOD, "loss": [0.5]}, WEIGHTS, "its loss is [0.5]"),
        ({"rows": 5, "loss": 0.5}, WEIGHTS, "it sent None as 'samples'"),
        ({**GOOD, "samples": 1.5}, WEIGHTS, "it sent 1.5 as 'samples'"),
        ({**GOOD, "seconds": float("inf")}, WEIGHTS, "it sent inf as 'seconds'"),
        ({**GOOD, "peak_rss_bytes": -1}, WEIGHTS, "it sent -1 as 'peak_rss_bytes'"),
        (GOOD, {}, "no value of 'w'"),
        (GOOD, {**WEIGHTS, "rows": np.zeros(2, np.float32)}, "not requested"),
        (GOOD, {"w": np.zeros((3, 2), np.float32)}, "shape [3, 2], not float32 of shape [2, 3]"),
        (GOOD, {"w": np.zeros((2, 3), np.float64)}, "float64"),
        (GOOD, {"w": np.full((2, 3), np.inf, np.float32)}, "not finite"),
    ],
)
def test_replies_that_do_not_fit_are_refused(
    facts: dict[str, Any], arrays: dict[str, np.ndarray], sentence: str
) -> None:
    assert sentence in unfit(WEIGHTS, facts, arrays)
    assert unfit(WEIGHTS, GOOD, WEIGHTS) == ""


@pytest.mark.fault
def test_an_evaluation_that_does_not_fit_is_refused() -> None:
    assert unfit({}, {"rows": 5, "loss": 0.5}, {}, training=False) == ""
    told = unfit({}, {"rows": 5, "loss": 0.5, "accuracy": "all"}, {}, training=False)
    assert told == "its accuracy is 'all'."


def test_the_pool_starts_in_the_folder_of_no_one(federated_run: RunFolder, tmp_path: Path) -> None:
    """A module in the working directory is not imported by a client."""
    (tmp_path / "onnxruntime.py").write_text("raise SystemExit('imported')")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        pool = ClientPool(federated_run, 1)
        try:
            weights = wb.load_run(federated_run.path).weights()
            (reply,) = pool.run([task(0, "train", weights)], WAIT_S, lambda: False)
        finally:
            pool.close()
    assert reply.error == ""


def test_a_client_whose_process_was_killed_takes_part_again(federated_run: RunFolder) -> None:
    weights = wb.load_run(federated_run.path).weights()
    pool = ClientPool(federated_run, 1)
    try:
        (first,) = pool.run([task(0, "train", weights)], WAIT_S, lambda: False)
        (process,) = pool.pids()
        os.kill(process, signal.SIGKILL)
        # It has ended then, and the pool may still learn how.
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        (again,) = pool.run([task(0, "train", weights)], WAIT_S, lambda: False)
        assert pool.pids() != [process]
    finally:
        pool.close()
    assert first.error == again.error == ""
    assert all(np.array_equal(again.arrays[name], first.arrays[name]) for name in weights)

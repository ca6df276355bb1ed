"""Federated runs of the digits, and what tests ask of them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")
import psutil

import workbench as wb
from workbench.data import Dataset, Split
from workbench.runs import Run

WAIT_S = 120

SGD = {"optimizer": "sgd", "learning_rate": 0.05}


def federated(data: Dataset | str = "digits", model: Any = "digits-mlp", **settings: Any) -> Run:
    return wb.federate(model, data, **settings).wait(WAIT_S)


def trained(data: Dataset | str = "digits", model: Any = "digits-mlp", **settings: Any) -> Run:
    return wb.train(model, data, threads=1, evaluate=False, **settings).wait(WAIT_S)


def largest_difference(one: Run, other: Run) -> float:
    first, second = one.weights(), other.weights()
    assert first.keys() == second.keys()
    return max(float(np.abs(first[name] - second[name]).max()) for name in first)


def part_of(data: Dataset, rows: int) -> Dataset:
    """The first rows of the training split."""
    batch = data.train.batch(np.arange(rows))
    return Dataset(data.name, Split(batch.inputs, batch.targets), data.test, data.classes)


def rows_of(data: Dataset, rows: slice) -> Dataset:
    batch = data.train.batch(np.arange(len(data.train))[rows])
    return Dataset(data.name, Split(batch.inputs, batch.targets))


def client_processes(run: Run) -> Any:
    """Those of a run, as soon as one is there."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        for process in psutil.process_iter(["cmdline"]):
            command = process.info["cmdline"] or []
            if (
                "workbench.flower.client.client_process" in command
                and str(run.folder.path) in command
            ):
                yield process
        time.sleep(0.01)
    pytest.fail("no client process was started")


def wait_for_round(run: Run, number: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while run.progress.done_steps < number:
        assert time.monotonic() < deadline
        assert not run.ended, run.error
        time.sleep(0.02)

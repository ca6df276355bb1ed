"""Models that nobody wrote: random layers in random order train as under PyTorch."""

from __future__ import annotations

import os
import secrets
import subprocess

import pytest

from tests.coverage.measure import ROOT
from tests.fork_server import forked


def run(count: int, seed: str) -> None:
    done = subprocess.run(
        forked("-m", "tests.coverage.random_models", str(count), seed),
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr[-4000:]}"


@pytest.mark.sweep
def test_random_models_train_as_under_pytorch() -> None:
    run(6, "fixed")


@pytest.mark.sweep
@pytest.mark.timeout(1800)
def test_many_random_models_train_as_under_pytorch() -> None:
    run(300, str(secrets.randbelow(2**32)))

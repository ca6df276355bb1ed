"""Custom autograd functions train on both engines with their own backward."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.fork_server import forked
from tests.functions.programs import PROGRAMS, REFUSED

ROOT = Path(__file__).parents[2]
TOLERANCE = 1e-5
ALWAYS = (
    "clipped gradient",
    "two results, the first used",
    "numpy",
    "autograd in backward",
)


@cache
def found(*names: str) -> dict[str, Any]:
    done = subprocess.run(
        forked("-m", "tests.functions.probe", *names),
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def check(name: str, given: dict[str, Any]) -> None:
    refused = name in REFUSED
    if refused:
        assert "is Python code" in given["ondevice"], given
        assert "ortmodule" in given["ondevice"], "the message says what trains it"
    for engine in ("ortmodule",) if refused else ("ondevice", "ortmodule"):
        assert not isinstance(given[engine], str), given[engine]
        assert max(given[engine].values()) < TOLERANCE, f"{engine}: {given[engine]}"


def test_there_are_many_programs() -> None:
    assert len(PROGRAMS) + len(REFUSED) >= 25


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ALWAYS)
def test_gradients_are_those_of_the_function(name: str) -> None:
    check(name, found(*ALWAYS)[name])


@pytest.mark.sweep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", [*PROGRAMS, *REFUSED])
def test_gradients_are_those_of_every_function(name: str) -> None:
    check(name, found()[name])

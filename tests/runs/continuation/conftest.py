"""Runs of the fake engine that have ended."""

from __future__ import annotations

import pytest

from tests.runs.continuation.fake_training import started
from workbench.data import Dataset
from workbench.runs import Run


@pytest.fixture(scope="module")
def uninterrupted(digits: Dataset) -> Run:
    return started(digits).wait(120)


@pytest.fixture
def ended(digits: Dataset) -> Run:
    return started(digits, steps=4).wait(60)

"""Runs of the fake engine that misbehave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runs.fake_runs import Misbehave
from workbench.data import Dataset
from workbench.runs import Run, train


@pytest.fixture
def misbehave(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> Misbehave:
    """Starts a run of the fake engine that does wrong what the keywords say."""

    def start(settings: dict[str, Any] | None = None, **behaviour: Any) -> Run:
        monkeypatch.setenv("WORKBENCH_FAKE", json.dumps(behaviour))
        return train("digits-mlp", digits, engine="fake", **{"steps": 200, **(settings or {})})

    return start


@pytest.fixture
def saved_digits(digits: Dataset, tmp_path: Path) -> Path:
    """The digits in a folder, for a process that loads them."""
    digits.save(tmp_path / "data")
    return tmp_path / "data"

"""A training of the fake engine that is resumed, with the settings that its steps depend on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.data import Dataset
from workbench.runs import Run, train

STEPS = 40


SETTINGS: dict[str, Any] = {
    "steps": STEPS,
    "batch_size": 300,
    "threads": 1,
    "lr_schedule": "cosine",
    "gradient_accumulation": 2,
    "evaluate_every": 15,
}
"""Two steps an epoch, so that a run is often resumed within one."""


def slowly(monkeypatch: pytest.MonkeyPatch, **behaviour: Any) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"step_ms": 5, **behaviour}))


def started(digits: Dataset, model: str = "digits-mlp", **settings: Any) -> Run:
    return train(model, digits, **{"engine": "fake", **SETTINGS, **settings})

"""What a worker is started with."""

from __future__ import annotations

import pytest

from workbench.config import make_config
from workbench.runs.launch import worker_environment


@pytest.mark.parametrize(("engine", "policy"), [("pytorch", None), ("ortmodule", "PASSIVE")])
def test_pytorchs_threads_sleep_where_onnx_runtimes_work(
    engine: str, policy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    config = make_config({"engine": engine, "threads": 3})
    environment = worker_environment(config, None)
    assert environment.get("OMP_WAIT_POLICY") == policy
    assert environment["OMP_NUM_THREADS"] == "3"


def test_a_wait_policy_of_the_users_own_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    config = make_config({"engine": "ortmodule"})
    assert worker_environment(config, None)["OMP_WAIT_POLICY"] == "ACTIVE"

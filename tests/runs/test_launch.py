"""The command and environment of a worker."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from tests.runs.recorded import model as recorded_model
from workbench.data import Dataset
from workbench.errors import ConfigError
from workbench.extensions.native_extension import NativeExtension
from workbench.runs import runs, train
from workbench.runs.launch import GRACE_VARIABLE, launch, worker_environment
from workbench.settings.config import make_config
from workbench.user_code.user_code import UserCode


@pytest.mark.parametrize(
    ("engine", "kernels", "built", "policy"),
    [
        ("pytorch", True, True, None),
        ("ortmodule", True, True, None),
        ("ortmodule", "auto", True, None),
        ("ortmodule", "no_linear", True, "PASSIVE"),
        ("ortmodule", False, True, "PASSIVE"),
        ("ortmodule", True, False, "PASSIVE"),
    ],
)
def test_pytorchs_threads_sleep_where_onnx_runtimes_work(
    engine: str,
    kernels: bool | str,
    built: bool,
    policy: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    extension = NativeExtension(Path(), "" if built else "it is not built")
    monkeypatch.setattr(
        import_module("workbench.runs.launch"), "native_extension", lambda: extension
    )
    settings = {"ortmodule": {"pytorch_kernels": kernels}} if engine == "ortmodule" else {}
    config = make_config({"engine": engine, "threads": 1, **settings})
    environment = worker_environment(config, UserCode())
    assert environment.get("OMP_WAIT_POLICY") == policy
    assert environment["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize("detached", [None, False, True])
def test_a_worker_ends_with_its_kernel_unless_it_is_detached(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch, detached: bool | None
) -> None:
    begun: list[object] = []
    program = import_module("workbench.runs.launch")
    monkeypatch.setattr(program, "start_worker", lambda *given: begun.append(given[4]))
    settings = {} if detached is None else {"detached": detached}
    config = make_config({"engine": "fake", "steps": 1})
    started = launch(recorded_model(), digits, config, **settings)
    assert begun == [started.folder.read_spec()["detached"]] == [detached is True]


def test_a_wait_policy_of_the_users_own_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    config = make_config({"engine": "ortmodule", "ortmodule": {"pytorch_kernels": False}})
    assert worker_environment(config, UserCode())["OMP_WAIT_POLICY"] == "ACTIVE"


@pytest.mark.fault
@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_a_wrong_time_to_heed_a_stop_is_refused(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(GRACE_VARIABLE, text)
    with pytest.raises(ConfigError, match=f"{GRACE_VARIABLE}='{text}' must be a number of seconds"):
        train("digits-mlp", digits, engine="fake", steps=1)
    assert runs().empty

"""How a worker is started: its folder, its lock, its command and its limits; none is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.runs.recorded import model
from workbench.child_process.watchdog import STOP_GRACE_S
from workbench.data import Dataset
from workbench.errors import ConfigError, RunError, RunFolderError
from workbench.files.advisory_lock import acquire_lock, is_locked
from workbench.run_folder.control import ControlReader
from workbench.run_folder.run_folder import RunFolder, home
from workbench.runs.launch import (
    EXIT_WAIT_S,
    FEDERATED_WORKER,
    GRACE_VARIABLE,
    SUMMARY_BYTES,
    WORKER,
    launch,
    locked_for_worker,
    start_worker,
    stop_grace_s,
    worker_environment,
    write_run_folder,
)
from workbench.settings.config import TrainingConfig, make_config
from workbench.user_code.user_code import UserCode

PROGRAM = import_module("workbench.runs.launch")


@pytest.fixture
def config() -> TrainingConfig:
    return make_config({"engine": "fake", "threads": 1, "memory_limit_bytes": 5_000_000_000})


class Popen:
    """Stands for the process that is started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.given: list[tuple[list[str], dict[str, Any]]] = []
        self.waited = threading.Event()
        self.error: OSError | None = None
        monkeypatch.setattr(PROGRAM.subprocess, "Popen", self.start)

    def start(self, command: list[str], **options: Any) -> Popen:
        if self.error is not None:
            raise self.error
        options["stdout"].write(b"said")
        self.given.append((command, options))
        return self

    def wait(self) -> None:
        self.daemon, self.thread = (
            threading.current_thread().daemon,
            threading.current_thread().name,
        )
        self.waited.set()


@pytest.fixture
def popen(monkeypatch: pytest.MonkeyPatch) -> Popen:
    return Popen(monkeypatch)


@pytest.mark.usefixtures("real_children")
@pytest.mark.parametrize("detached", [True, False])
def test_a_worker_has_its_limits_from_the_settings(
    tmp_path: Path, config: TrainingConfig, popen: Popen, detached: bool
) -> None:
    folder = RunFolder(tmp_path)
    folder.log_path.write_text("of the worker before, which said more")
    code = UserCode()
    lock = os.open(tmp_path, os.O_RDONLY)
    started: Any = start_worker(folder, config, code, lock, detached)
    assert started is popen
    [(command, options)] = popen.given
    watch = json.loads(command[-2])
    assert watch == {
        "command": [sys.executable, "-P", "-m", "workbench.worker", str(tmp_path)],
        "parent": None if detached else os.getpid(),
        "folder": str(tmp_path),
        "engine": "fake",
        "memory_limit_bytes": 5_000_000_000,
        "grace_s": STOP_GRACE_S,
        "cores": None,
    }
    assert (options["stdin"], options["stderr"]) == (subprocess.DEVNULL, subprocess.STDOUT)
    assert options["pass_fds"] == (lock,)
    assert options["start_new_session"] is True, "Ctrl-C is not for the worker"
    assert options["env"] == worker_environment(config, code)
    assert options["env"]["PYTHONUNBUFFERED"] == "1"
    assert options["env"]["OMP_NUM_THREADS"] == "1"
    assert folder.log_path.read_text() == "said"
    assert popen.waited.wait(10), "nobody reaps it"
    assert (popen.daemon, popen.thread) == (True, f"reap-{folder.id}")
    start_worker(folder, config, code, None, detached, FEDERATED_WORKER)
    command, options = popen.given[1]
    assert json.loads(command[-2])["command"][3] == "workbench.flower"
    assert options["pass_fds"] == ()
    os.close(lock)


@pytest.mark.fault
def test_a_process_that_cannot_be_started_is_a_sentence(
    tmp_path: Path, config: TrainingConfig, popen: Popen
) -> None:
    popen.error = OSError("no more processes")
    with pytest.raises(RunError) as refused:
        start_worker(RunFolder(tmp_path), config, UserCode(), None, False)
    assert str(refused.value) == "The worker process cannot be started: no more processes."


@pytest.mark.parametrize(
    ("text", "expected"), [(None, STOP_GRACE_S), ("", STOP_GRACE_S), ("0", 0.0), ("2.5", 2.5)]
)
def test_a_stop_is_heeded_in_the_time_that_is_set(
    monkeypatch: pytest.MonkeyPatch, text: str | None, expected: float
) -> None:
    if text is None:
        monkeypatch.delenv(GRACE_VARIABLE, raising=False)
    else:
        monkeypatch.setenv(GRACE_VARIABLE, text)
    assert stop_grace_s() == expected
    assert GRACE_VARIABLE == "WORKBENCH_STOP_GRACE_S"


@pytest.mark.fault
@pytest.mark.parametrize("text", ["-0.5", "inf", "-inf", "nan", "a while"])
def test_a_time_to_stop_is_a_number_of_seconds(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(GRACE_VARIABLE, text)
    with pytest.raises(ConfigError) as refused:
        stop_grace_s()
    assert [*refused.value.problems] == [
        f"{GRACE_VARIABLE}='{text}' must be a number of seconds, 0 or more."
    ]


def test_the_lock_is_held_for_the_worker_and_has_room_for_a_summary(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert SUMMARY_BYTES == 16384
    with locked_for_worker(folder) as lock:
        assert lock is not None
        assert is_locked(folder.watchdog_lock_path)
        assert folder.watchdog_lock_path.read_bytes() == bytes(16384)
    assert not is_locked(folder.watchdog_lock_path)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(lock)
    with pytest.raises(RunFolderError, match="cannot be written"), locked_for_worker(folder):
        raise OSError(28, "No space left on device")
    assert not is_locked(folder.watchdog_lock_path)


class Clock:
    def __init__(self, then: Callable[[int], None] = lambda _: None) -> None:
        self.now_s = 7.0
        self.slept: list[float] = []
        self.then = then

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds
        self.then(len(self.slept))


def test_a_run_whose_worker_is_alive_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, clock = RunFolder(tmp_path), Clock()
    monkeypatch.setattr(PROGRAM, "time", clock)
    held = acquire_lock(folder.watchdog_lock_path)
    assert held is not None
    with (
        pytest.raises(RunError, match=f"^Run {folder.id} is still running or starting.$"),
        locked_for_worker(folder),
    ):
        pytest.fail("it is held")
    assert clock.slept == []
    os.close(held)


@pytest.mark.parametrize("exits_after", [3, None])
def test_the_worker_of_a_run_that_has_ended_is_given_time_to_exit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exits_after: int | None
) -> None:
    assert EXIT_WAIT_S == 30
    folder = RunFolder(tmp_path)
    folder.summary_path.write_text("{}")
    held = acquire_lock(folder.watchdog_lock_path)
    assert held is not None
    clock = Clock(lambda slept: os.close(held) if slept == exits_after else None)
    monkeypatch.setattr(PROGRAM, "time", clock)
    if exits_after is None:
        with pytest.raises(RunError, match="still running"), locked_for_worker(folder):
            pytest.fail("it is held")
        assert sum(clock.slept) == pytest.approx(30, abs=0.05)
        os.close(held)
    else:
        with locked_for_worker(folder) as lock:
            assert lock is not None
        assert clock.slept == [0.02] * 3


def test_a_folder_holds_all_that_a_worker_needs(digits: Dataset, config: TrainingConfig) -> None:
    folder = RunFolder.create("line-fake")
    before = time.time()
    written = write_run_folder(folder, model(), digits, config)
    spec = folder.read_spec()
    assert written == config.model_copy(update={"loss": config.losses})
    assert (spec["model"], spec["dataset"], spec["samples"]) == (
        *("line", "digits"),
        len(digits.train),
    )
    assert (spec["detached"], spec["base"], spec["federation"]) == (False, None, None)
    assert spec["adapted_weights"] is None
    assert before <= spec["launched"] <= time.time()
    assert spec["machine"]["cores"] >= 1
    assert "torch" in spec["versions"]
    assert ControlReader(folder.control_path).granted(10**9)
    other = RunFolder.create("line-fake")
    record = {"split": "by hand", "clients": [], "options": {}, "parameters": []}
    config = config.model_copy(
        update={"lora": make_config({"engine": "ondevice", "lora": {"rank": 2}}).lora}
    )
    write_run_folder(
        other, model(), digits, config, granted_steps=0, detached=True,
        base={"run": "a", "except": []}, federation=lambda given: {**record, "split": given.id},
    )  # fmt: skip
    spec = json.loads(other.spec_path.read_text())
    assert (spec["detached"], spec["base"]) == (True, {"run": "a", "except": []})
    assert spec["federation"]["split"] == other.id
    assert [weight[0] for weight in spec["adapted_weights"]] == ["weight"]
    assert not ControlReader(other.control_path).granted(0)


@pytest.mark.parametrize("federated", [False, True])
def test_each_kind_of_run_starts_its_worker(
    digits: Dataset, config: TrainingConfig, monkeypatch: pytest.MonkeyPatch, federated: bool
) -> None:
    begun: list[tuple[Any, ...]] = []

    def start(*given: Any) -> str:
        begun.append((*given, is_locked(given[0].watchdog_lock_path)))
        return "a worker"

    monkeypatch.setattr(PROGRAM, "start_worker", start)
    record = {"split": "by hand", "clients": [], "options": {}, "parameters": []}
    options: dict[str, Any] = {"federation": lambda _: record} if federated else {}
    base = {"run": "b", "except": []}
    found = launch(model(), digits, config, granted_steps=4, base=base, **options)
    [(folder, written, code, lock, detached, package, locked)] = begun
    assert (found.folder, found.worker, found.code) == (folder, "a worker", code)
    assert folder.path.parent == home() / "runs"
    assert folder.id.endswith("-line-fake")
    assert written == config.model_copy(update={"loss": config.losses})
    assert (detached, locked) == (False, True)
    assert package == (FEDERATED_WORKER if federated else WORKER)
    assert lock is not None
    assert not is_locked(folder.watchdog_lock_path), "its copy is of the worker"
    assert folder.read_spec()["base"] == base
    reader = ControlReader(folder.control_path)
    assert [reader.granted(done) for done in (3, 4)] == [True, False]


@pytest.mark.fault
def test_a_launch_that_fails_leaves_no_folder(
    digits: Dataset, config: TrainingConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = KeyboardInterrupt()

    def start(*_: Any) -> None:
        raise error

    monkeypatch.setattr(PROGRAM, "start_worker", start)
    with pytest.raises(KeyboardInterrupt):
        launch(model(), digits, config)
    assert list((home() / "runs").iterdir()) == []


def test_a_launch_cleans_up_after_others(
    digits: Dataset, config: TrainingConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned: list[Path] = []
    monkeypatch.setattr(PROGRAM, "remove_abandoned_files", cleaned.append)
    monkeypatch.setattr(PROGRAM, "start_worker", lambda *_: SimpleNamespace())
    launch(model(), digits, config)
    assert cleaned == [home() / "runs"]

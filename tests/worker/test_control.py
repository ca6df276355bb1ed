"""Commands and limits that a worker obeys before its next step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import workbench.worker.control as worker_control
from workbench.run_folder.control import grant, request_state
from workbench.worker.control import EARLY_GRACE_S, EARLY_POLL_S, REASONS, Control


def test_a_step_needs_a_grant_a_running_state_and_no_interruption(
    control: Control, control_path: Path
) -> None:
    grant(control_path, 2)
    assert control.may_step(1)
    assert control.granted()
    assert not control.may_step(2)
    assert not control.granted()
    grant(control_path, 3)
    request_state(control_path, "pause")
    assert not control.may_step(2)
    assert control.granted()
    assert control.pause_requested()
    assert not control.stop_requested()
    request_state(control_path, "run")
    assert control.may_step(2)
    assert not control.pause_requested()
    control.interruption = REASONS[signal.SIGTERM]
    assert not control.may_step(2)
    assert control.stop_requested()


def test_a_stop_that_was_seen_cannot_be_taken_back(control: Control, control_path: Path) -> None:
    request_state(control_path, "stop")
    assert control.stop_requested()
    request_state(control_path, "run")
    assert control.stop_requested()


def test_a_requested_stop_is_not_reported_as_an_interruption(
    control: Control, control_path: Path
) -> None:
    assert control.end_status == "stopped"
    control.interruption = REASONS[signal.SIGHUP]
    assert control.end_status == "interrupted"
    request_state(control_path, "stop")
    assert control.end_status == "stopped"


def test_the_first_signal_is_the_reason(control: Control) -> None:
    control._interrupt(signal.SIGTERM)
    control._interrupt(signal.SIGHUP)
    assert control.interruption == REASONS[signal.SIGTERM] != REASONS[signal.SIGHUP]


def test_each_step_is_waited_for_separately(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    for step in (0, 0, 0, 1, 1):
        control.may_step(step)
        control.wait()
    assert slept[0] < slept[1] < slept[2]
    assert slept[3:] == slept[:2]


WORKER = """
import os, sys, time
from pathlib import Path
from workbench.worker.control import Control
path = Path(sys.argv[1])
control = Control(path)
say = lambda text: print(text, flush=True)
"""


def start(path: Path, script: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER + script, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def end_of(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=120)
    return process.returncode, said


def test_a_worker_that_builds_ends_when_it_is_stopped(control_path: Path) -> None:
    """With the exit status of a run that went well; its summary is written before."""
    process = start(
        control_path,
        "control.exit_if_stopped_early(lambda: say('end'))\nsay('up')\ntime.sleep(600)",
    )
    request_state(control_path, "stop")
    assert end_of(process) == (0, "end\n")


@pytest.mark.parametrize("act", ["control.may_step(1)", "control.stop_requested()"])
def test_a_worker_that_has_begun_or_seen_the_stop_ends_itself(act: str, control_path: Path) -> None:
    assert EARLY_POLL_S < EARLY_GRACE_S
    script = (
        "control.exit_if_stopped_early(lambda: say('end'))\n"
        "say('up')\n"
        "while control._reader.read().state != 'stop': time.sleep(0.001)\n"
        f"{act}\n"
        f"time.sleep({4 * (EARLY_GRACE_S + EARLY_POLL_S)})\n"
        "say('worked')\n"
        "sys.exit(7)\n"
    )
    process = start(control_path, script)
    request_state(control_path, "stop")
    assert end_of(process) == (7, "worked\n")


@pytest.mark.parametrize("act", [lambda c: c.may_step(1), lambda c: c.stop_requested()])
def test_a_worker_that_sees_to_the_stop_within_the_grace_is_not_ended(
    act: Callable[[Control], object],
    control: Control,
    control_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    daemons: list[bool] = []
    ended: list[object] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        daemons.append(threading.current_thread().daemon)
        if seconds == EARLY_GRACE_S:
            act(control)

    monkeypatch.setattr(worker_control, "time", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(os, "_exit", ended.append)
    request_state(control_path, "stop")
    control.exit_if_stopped_early(lambda: ended.append("end"))
    for thread in threading.enumerate():
        if thread.name == "early-stop":
            thread.join()
    assert slept[0] == EARLY_GRACE_S, "the stop was seen"
    assert all(daemons), "a worker that fails before its first step could not end"
    assert not ended


@pytest.mark.parametrize(("number", "reason"), REASONS.items())
def test_a_signal_is_the_reason_of_an_interruption(
    number: signal.Signals, reason: str, control_path: Path
) -> None:
    script = (
        "say('up')\nwhile not control.interruption: time.sleep(0.01)\nsay(control.interruption)\n"
    )
    process = start(control_path, script)
    os.kill(process.pid, number)
    assert end_of(process) == (0, f"{reason}\n")


def test_a_signal_is_handled_while_native_code_blocks_the_main_thread(control_path: Path) -> None:
    """No handler runs there, but the process ends at once where nothing has been trained."""
    script = (
        "import ctypes, threading\n"
        "control.exit_if_stopped_early(lambda: say('end'))\n"
        "lock = ctypes.create_string_buffer(64)\n"
        "libc = ctypes.CDLL(None)\n"
        "say('up')\n"
        "libc.pthread_mutex_lock(lock)\n"
        "libc.pthread_mutex_lock(lock)\n"  # its own lock once more: for ever, in native code
    )
    process = start(control_path, script)
    os.kill(process.pid, signal.SIGTERM)
    assert end_of(process) == (0, "end\n")


def test_processes_forked_by_user_code_end_by_signals(control_path: Path) -> None:
    """A signal to the fork is not the worker's, and ends the fork."""
    script = (
        "import signal\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    time.sleep(600)\n"
        "say('up')\n"
        "os.kill(child, signal.SIGTERM)\n"
        "_, status = os.waitpid(child, 0)\n"
        "time.sleep(0.2)\n"
        "say(os.WTERMSIG(status))\n"
        "say(repr(control.interruption))\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "while not control.interruption: time.sleep(0.01)\n"
    )
    assert end_of(start(control_path, script)) == (0, f"{int(signal.SIGTERM)}\n''\n")

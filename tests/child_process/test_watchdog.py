"""The process that looks after another from outside, on small commands."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.processes import gone, until
from workbench.child_process import watchdog
from workbench.child_process.watchdog import Watch
from workbench.run_folder.control import create_control, request_state
from workbench.run_folder.run_folder import RunFolder

pytestmark = pytest.mark.fault

HANDLED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
SLEEPER = "import time; print('up', flush=True); time.sleep(600)"


def start(script: str, *, parent: int | None = None, **limits: object) -> subprocess.Popen[str]:
    watch = Watch([sys.executable, "-S", "-c", script], parent, **limits)  # type: ignore[arg-type]
    return subprocess.Popen(watch.arguments(), stdout=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=60)
    return process.returncode


def run_here(watch: Watch) -> int:
    """The watchdog in this process, whose handlers of signals are given back."""
    held = {number: signal.getsignal(number) for number in HANDLED}
    try:
        return watchdog.Watchdog(watch).run()
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in held.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("status", [0, 3])
def test_it_ends_with_the_exit_status_of_its_process(status: int) -> None:
    assert finish(start(f"raise SystemExit({status})")) == status


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGTERM"])
def test_it_ends_by_the_signal_of_its_process(name: str) -> None:
    script = f"import os, signal; os.kill(os.getpid(), signal.{name})"
    assert finish(start(script)) == -signal.Signals[name]


def test_a_command_that_cannot_be_started_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    watch = Watch(["/nowhere/python"], None)
    assert subprocess.run(watch.arguments(), check=False).returncode == 127
    assert "/nowhere/python cannot be started: " in capfd.readouterr().err


def test_a_process_whose_parent_is_gone_is_ended() -> None:
    nobody = 2**22 + 1
    assert finish(start(SLEEPER, parent=nobody)) == -signal.SIGKILL


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_ends_all_that_the_process_has_started(name: str) -> None:
    script = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-S', '-c', {SLEEPER!r}])\n"
        "time.sleep(600)\n"
    )
    process = start(script, parent=os.getpid())
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) == 2
    process.send_signal(signal.Signals[name])
    assert finish(process) == -signal.SIGKILL
    for member in family:
        until(gone(member.pid))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a parent-death signal")
def test_when_it_is_killed_its_process_dies() -> None:
    process = start(SLEEPER)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    [child] = psutil.Process(process.pid).children()
    process.kill()
    finish(process)
    until(gone(child.pid))


def test_memory_is_held_while_the_interpreters_lock_is_not_given_back() -> None:
    script = (
        "import ctypes\n"
        "size = 1 << 30\n"
        "native = ctypes.PyDLL(None)\n"
        "native.malloc.restype = ctypes.c_void_p\n"
        "memory = native.malloc(ctypes.c_size_t(size))\n"
        "native.memset(ctypes.c_void_p(memory), 1, ctypes.c_size_t(size))\n"
        "native.sleep(600)\n"
    )
    assert finish(start(script, memory_limit_bytes=200_000_000)) == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux records the peak")
def test_memory_that_was_given_back_before_it_looked_counts_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watchdog, "MEMORY_POLL_S", 1.0)
    script = (
        "import mmap, time\n"
        "with mmap.mmap(-1, 60_000_000) as memory:\n"
        "    memory.write(bytes(60_000_000))\n"
        "time.sleep(20)\n"
    )
    watch = Watch([sys.executable, "-S", "-c", script], None, memory_limit_bytes=40_000_000)
    assert run_here(watch) == -signal.SIGKILL


def test_it_imports_the_standard_library_and_its_neighbours_alone() -> None:
    """It runs without site-packages, and without this package's own start."""
    package = Path(watchdog.__file__).parents[1]
    files = ("child_process.exit_reason", "child_process.resident_set", "run_folder.worker_exit")
    neighbours = {f"workbench.{name}" for name in files}
    for file in ("child_process.watchdog", *files):
        names = set()
        path = package / f"{file.replace('.', '/')}.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module or "")
        top = {name if name in neighbours else name.split(".")[0] for name in names}
        assert top <= sys.stdlib_module_names | neighbours


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    folder.write_spec({})
    create_control(folder.control_path, None)
    return folder


def summary_of(folder: RunFolder) -> dict[str, Any]:
    summary = folder.read_summary()
    assert summary is not None
    return summary


@pytest.mark.parametrize(
    ("end", "message"),
    [("os._exit(74)", "disk full"), ("os.kill(os.getpid(), 11)", "SIGSEGV"), ("os._exit(0)", "")],
)
def test_a_stop_that_fails_is_a_failure(end: str, message: str, folder: RunFolder) -> None:
    """Also where there is no watchdog.lock that keeps room for the summary."""
    script = f"import os, time; print('up', flush=True); time.sleep(0.5); {end}"
    request_state(folder.control_path, "stop")
    finish(start(script, folder=str(folder.path)))
    summary = summary_of(folder)
    assert summary["status"] == ("failed" if message else "stopped")
    assert message in (summary["error"] or {"message": ""})["message"]


def test_a_stop_that_is_not_heeded_is_a_stop(folder: RunFolder) -> None:
    request_state(folder.control_path, "stop")
    finish(start(SLEEPER, folder=str(folder.path), grace_s=0.1))
    assert summary_of(folder)["status"] == "stopped"


def test_a_stop_that_is_taken_back_ends_nothing(folder: RunFolder) -> None:
    script = "import time; print('up', flush=True); time.sleep(5)"
    request_state(folder.control_path, "stop")
    process = start(script, folder=str(folder.path), grace_s=3)
    assert process.stdout is not None
    process.stdout.readline()
    request_state(folder.control_path, "run")
    assert finish(process) == 0


def test_an_error_of_the_system_ends_no_healthy_process(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> list[tuple[str, int]]:
        monkeypatch.undo()
        raise FileNotFoundError("renamed meanwhile")

    monkeypatch.setattr(watchdog, "unfinished_sizes", fail)
    request_state(folder.control_path, "stop")
    script = "import time; time.sleep(0.5)"
    watch = Watch([sys.executable, "-S", "-c", script], None, str(folder.path), grace_s=0)
    assert run_here(watch) in (0, -signal.SIGTERM)
    assert summary_of(folder)["status"] == "stopped"


def test_the_watchdog_kills_the_group_of_its_process_alone(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number is given to another group as soon as its process is reaped."""
    killed: list[tuple[int, str]] = []

    def kill_group(group: int, number: int) -> None:
        killed.append((os.getsid(group), psutil.Process(group).status()))
        kill(group, number)

    kill = os.killpg
    monkeypatch.setattr(os, "killpg", kill_group)
    # One process that stays in the group, and one that has left it.
    script = (
        "import subprocess, sys\n"
        f"sleeper = [sys.executable, '-S', '-c', {SLEEPER!r}]\n"
        f"own = [subprocess.Popen(sleeper, start_new_session=n) for n in (False, True)]\n"
        f"open({str(folder.path / 'pids')!r}, 'w').write(' '.join(str(p.pid) for p in own))\n"
    )
    assert run_here(Watch([sys.executable, "-S", "-c", script], None, str(folder.path))) == 0
    inner, outer = map(int, (folder.path / "pids").read_text().split())
    until(gone(inner))
    assert not gone(outer)()
    os.kill(outer, signal.SIGKILL)
    ((session, status),) = killed
    assert session != os.getsid(0)
    assert status == psutil.STATUS_ZOMBIE


CHILD = """
import os, sys, time
from workbench.child_process.child import serve
def work(report):
    report(str(os.getpid()))
    time.sleep(600)
serve(work)
"""

PARENT = """
import os, sys
from pathlib import Path
from workbench.child_process.child import run_child
from workbench.errors import EngineError
say = lambda text: print(text, flush=True)
run_child("slow_child", Path("x"), say, os.environ, work="sleeps", failure=EngineError)
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT", "SIGTERM"])
def test_a_child_process_ends_with_the_process_that_asked_for_its_work(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "slow_child").mkdir()
    (tmp_path / "slow_child" / "__main__.py").write_text(CHILD)
    (tmp_path / "slow_child" / "__init__.py").touch()
    path = os.pathsep.join([str(tmp_path), *sys.path])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert not gone(child)()
    parent.send_signal(signal.Signals[name])
    finish(parent)
    until(gone(child))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no CPU affinity here")
def test_its_process_and_the_threads_of_it_use_only_the_given_cores() -> None:
    script = (
        "import os, threading\n"
        "found = []\n"
        "thread = threading.Thread(target=lambda: found.append(os.sched_getaffinity(0)))\n"
        "thread.start(); thread.join()\n"
        "print(len(os.sched_getaffinity(0)), len(found[0]))\n"
    )
    process = start(script, cores=1)
    assert process.communicate(timeout=60)[0].split() == ["1", "1"]
    everywhere = len(os.sched_getaffinity(0))
    process = start(script, cores=everywhere + 1)
    assert process.communicate(timeout=60)[0].split() == [str(everywhere)] * 2

"""The tests' fork server: what a fork does is what a process of its own would do."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.fork_server import ADDRESS, ForkServer, forked
from tests.processes import gone, until


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    """A server of its own, which has imported next to nothing."""
    server = ForkServer("json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ADDRESS, server.address)
        yield
    server.close()


def run(*python: str, warnings: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        forked(*python, warnings=warnings), capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit(7)", 7),
        ("raise ValueError", 1),
        ("import os; os.abort()", -signal.SIGABRT),
    ],
)
def test_it_ends_as_the_process_would(code: str, status: int) -> None:
    assert run("-c", code).returncode == status


def test_modules_and_code_have_their_arguments() -> None:
    assert run("-c", "import sys; print(*sys.argv[1:], __name__)", "a", "b").stdout == (
        "a b __main__\n"
    )
    assert "json.tool" in run("-m", "json.tool", "--help").stdout


def test_warnings_are_errors_where_that_is_asked_for() -> None:
    code = "import warnings; warnings.warn('mind', DeprecationWarning, stacklevel=2)"
    assert run("-c", code).returncode == 0
    assert "DeprecationWarning: mind" in run("-c", code, warnings="error").stderr


def test_a_fork_is_killed_with_the_process_that_represents_it() -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with subprocess.Popen(forked("-c", code), stdout=subprocess.PIPE, text=True) as stands:
        assert stands.stdout is not None
        pid = int(stands.stdout.readline())
        assert pid != stands.pid
        os.kill(stands.pid, signal.SIGKILL)
        until(gone(pid))


def test_a_server_that_has_ended_is_an_error() -> None:
    ended = ForkServer("no_such_module")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ADDRESS, ended.address)
        done = run("-c", "print()")
    ended.close()
    assert done.returncode == 1
    assert "The tests' fork server has ended" in done.stderr
    assert "No module named 'no_such_module'" in done.stderr

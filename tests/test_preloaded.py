"""What forks of the tests' fork server have in common."""

from __future__ import annotations

import signal
import subprocess

from tests.fork_server import forked

TAKE = "from tqdm import tqdm; lock = tqdm.get_lock(); lock.acquire(); print('taken', flush=True)"


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        forked("-c", code), capture_output=True, text=True, check=False, timeout=60
    )


def test_a_fork_that_is_killed_leaves_no_lock_that_the_others_wait_for() -> None:
    killed = run(f"{TAKE}; import os; os.kill(os.getpid(), {int(signal.SIGKILL)})")
    assert (killed.stdout, killed.returncode) == ("taken\n", -signal.SIGKILL)
    assert run(TAKE).stdout == "taken\n"

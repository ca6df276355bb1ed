"""A process ends at once, whatever its threads do, and loses nothing that it said."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import atexit, threading, time
from workbench.child_process.quick_exit import quick_exit

atexit.register(print, "handled")
threading.Thread(target=time.sleep, args=(600,)).start()
print("said", end=" ")
quick_exit(3)
"""


def test_threads_do_not_keep_it_and_exit_handlers_run() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (3, "said handled\n"), done.stderr

"""Work that is cancelled: its child ends, what waited for it raises, and nothing further starts."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import psutil
import pytest

from workbench.child_process.cancellation import (
    Cancellation,
    CancelledError,
    check_cancelled,
    ended_if_cancelled,
)
from workbench.child_process.child import run_child
from workbench.errors import EngineError

PACKAGE = """
import os, time
from workbench.child_process.child import serve

def work(report):
    report(str(os.getpid()))
    time.sleep(600)

serve(work)
"""


def test_the_child_of_cancelled_work_ends_and_no_other_starts(tmp_path: Path) -> None:
    package = tmp_path / "sleeping"
    package.mkdir()
    (package / "__main__.py").write_text(PACKAGE)
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    cancellation = Cancellation()
    children: list[psutil.Process] = []

    def report(text: str) -> None:
        children.append(psutil.Process(int(text)))
        threading.Thread(target=cancellation.cancel).start()

    def run() -> None:
        environment = {**os.environ, "PYTHONPATH": path}
        run_child("sleeping", tmp_path, report, environment, work="sleeps", failure=EngineError)

    with pytest.raises(CancelledError), cancellation.applied():
        run()
    [child] = children
    child.wait(30)
    assert not child.is_running()
    with pytest.raises(CancelledError), cancellation.applied():
        run()
    assert len(children) == 1
    check_cancelled()  # what does not belong to it goes on


def test_a_process_started_during_cancellation_is_ended() -> None:
    cancellation = Cancellation()
    ended: list[int] = []
    with cancellation.applied():
        with ended_if_cancelled(lambda: ended.append(1)):
            pass
        cancellation.cancel()
        assert ended == [], "it was over"
        with ended_if_cancelled(lambda: ended.append(2)):
            pass
        with pytest.raises(CancelledError):
            check_cancelled()
    assert ended == [2]
    with ended_if_cancelled(lambda: ended.append(3)):
        pass
    assert ended == [2]

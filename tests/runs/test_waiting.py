"""How long `Run.wait` waits."""

from __future__ import annotations

import threading
import time

from filelock import FileLock

from tests.runs.written import DONE, write_run
from workbench.run_folder.results.step_results import StepResults
from workbench.runs import Run

STEPS = {"event": "steps", "first_step": 1, "losses": [0.5], "seconds": [0.1]}


def test_it_waits_until_the_worker_has_completed_the_summary() -> None:
    """Otherwise the record of a run that has ended changes under its reader."""
    run = write_run("adding", [STEPS], DONE)
    locked = threading.Event()

    def worker() -> None:
        with FileLock(run.folder.lock_path, thread_local=False):
            locked.set()
            time.sleep(0.3)
            found = run.step_results().record()
            run.folder.write_summary({**(run.folder.read_summary() or {}), **found})

    thread = threading.Thread(target=worker)
    thread.start()
    assert locked.wait(10)
    assert recorded(run) is None, "the run has ended, and more is to come"
    assert recorded(run.wait(10)) is not None
    thread.join()


def test_it_does_not_wait_for_a_worker_that_is_gone() -> None:
    run = write_run("killed", [STEPS], DONE)
    assert recorded(run.wait(10)) is None


def test_a_worker_that_hangs_is_not_waited_for_beyond_the_timeout() -> None:
    run = write_run("hanging", [STEPS], DONE)
    with FileLock(run.folder.lock_path):
        assert run.wait(0.2).status == "completed"


def recorded(run: Run) -> StepResults | None:
    return StepResults.recorded(run.summary)

"""Why a run failed: from what it left, whoever asks."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from tests.runs.written import LAUNCHED, steps, write_run
from workbench.errors import RunError
from workbench.runs import Run
from workbench.runs.failure import failure_cause
from workbench.runs.waiting import failure_text

ERROR = {"type": "E", "message": "It broke.", "traceback": "\n  here\n"}
OTHER = {"type": "F", "message": "It is corrupt.", "traceback": ""}


def never() -> bool:
    raise AssertionError("there is a summary, or the worker has exited")


def cause(
    run: Run,
    exit_status: int | None = None,
    lost: Callable[[], bool] = never,
    launched: float = LAUNCHED,
) -> Any:
    return failure_cause(run.folder, exit_status, lost, launched)


def test_a_summary_alone_states_the_failure() -> None:
    assert cause(write_run("a", [], {"status": "completed"})) is None
    failed = write_run("b", [], {"status": "failed", "error": ERROR})
    assert cause(failed) == ERROR
    assert cause(failed, -9) == ERROR


def test_a_failed_resumption_is_reported_to_its_caller_alone() -> None:
    run = write_run("a", [steps(1, [1.0])], {"status": "completed", "resume_error": OTHER})
    assert cause(run) is None
    assert cause(run, launched=LAUNCHED + 1) == OTHER
    assert (run.error, run.reason) == (None, "It could not be resumed: It is corrupt.")
    assert run.wait(1) is run
    run.spec["launched"] = LAUNCHED + 1
    with pytest.raises(RunError) as caught:
        run.wait(1)
    assert str(caught.value) == (
        f"Run {run.id} could not be resumed and remains completed: It is corrupt.\n"
        f"Log: {run.folder.log_path}"
    )
    assert failure_text(run, ERROR) == (
        f"fake failed after step 1: It broke.\nLog: {run.folder.log_path}\n\nhere"
    )


@pytest.mark.parametrize("kind", ["EngineError", "UntrainableError", "DataError"])
def test_the_traceback_of_an_error_that_explains_itself_is_left_to_the_log(kind: str) -> None:
    run = write_run("a", [steps(1, [1.0])], {"status": "failed", "error": {**ERROR, "type": kind}})
    with pytest.raises(RunError) as caught:
        run.wait(1)
    assert str(caught.value) == f"fake failed after step 1: It broke.\nLog: {run.folder.log_path}"


def test_a_reason_stands_before_why_it_was_not_resumed() -> None:
    summary = {"status": "interrupted", "reason": "It was told to end.", "resume_error": OTHER}
    run = write_run("a", [], summary)
    assert run.reason == "It was told to end. It could not be resumed: It is corrupt."


def test_an_unreadable_summary_is_the_cause() -> None:
    run = write_run("a", [], {"status": "completed"})
    run.folder.summary_path.write_text("{")
    found = cause(run)
    assert (found["type"], found["traceback"]) == ("DamagedRecordError", "")
    assert "summary.json" in found["message"]
    with pytest.raises(
        RunError, match=r"^The result of run .* cannot be read: .*summary\.json.*\nLog: "
    ):
        run.wait(1)


def test_without_a_summary_it_depends_on_the_worker() -> None:
    run = write_run("a", [])
    assert cause(run, None, lambda: False) is None
    assert cause(run, -9, lambda: False) is None, "another may have been started since"
    assert cause(run, None, lambda: True) == {
        "type": "Lost", "traceback": "",
        "message": "The worker process no longer exists and wrote no summary.",
    }  # fmt: skip
    run.folder.log_path.write_text("last words\n")
    killed = cause(run, -9, lambda: True)
    assert killed["type"] == "SIGKILL"
    assert "killed by SIGKILL" in killed["message"]


def test_a_folder_that_is_gone_was_removed_or_deleted() -> None:
    removed = write_run("a", [], {"status": "completed"})
    deleted = write_run("b", [], {"status": "completed"})
    shutil.rmtree(removed.folder.path)
    deleted.delete()
    assert cause(removed, -9, lambda: True) == {
        "type": "Removed", "traceback": "",
        "message": f"Its folder {removed.folder.path} was removed during the run.",
    }  # fmt: skip
    assert cause(deleted, None, lambda: True) == {
        "type": "Removed", "traceback": "",
        "message": f"It was deleted; wb.undelete({deleted.id!r}) restores it.",
    }  # fmt: skip


def test_what_a_run_came_to_is_known_though_its_folder_is_gone_since() -> None:
    run = write_run("a", [steps(1, [0.5] * 3)], {"status": "completed", "steps": 3})
    assert run.ended
    shutil.rmtree(run.folder.path)
    assert (run.status, run.error) == ("completed", None)
    assert run.wait(1) is run
    failed = write_run("b", [], {"status": "failed", "error": ERROR})
    assert failed.ended
    shutil.rmtree(failed.folder.path)
    assert (failed.status, failed.error) == ("failed", ERROR["message"])


def test_what_a_run_came_to_is_forgotten_when_it_is_resumed() -> None:
    run = write_run("a", [steps(1, [0.5] * 3)], {"status": "stopped", "steps": 3})
    assert run.status == "stopped"
    run.folder.summary_path.unlink()
    assert run.status == "failed", "no worker has written another summary"
    shutil.rmtree(run.folder.path)
    assert run.status == "failed"

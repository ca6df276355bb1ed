"""The error of a run whose rank failed, from the rank's record and its exit status."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure, get_error_handler

from workbench.ranks.failure import ENDED, describe_failure, first_failure
from workbench.ranks.peers import EXIT_PEER_LOST


def failed(rank: int, exit_status: int, error_file: Path, at: int = 0) -> ProcessFailure:
    failure = ProcessFailure(rank, rank, exit_status, str(error_file))
    failure.timestamp = failure.timestamp or at
    return failure


def recorded(path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that a rank writes of its exception."""
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    try:
        raise error
    except type(error) as raised:
        get_error_handler().record_exception(raised)
    return path


@pytest.mark.fault
@pytest.mark.parametrize("message", ["index 7 is out of range", "index 7 is out of range."])
def test_an_exception_of_a_rank_that_follows_is_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    path = recorded(tmp_path / "error.json", IndexError(message), monkeypatch)
    found = describe_failure(failed(1, 1, path), tmp_path / "worker.log")
    assert found["message"] == f"Rank 1 failed: IndexError: index 7 is out of range. {ENDED}"
    assert "raise error" in found["traceback"]


@pytest.mark.fault
def test_a_rank_that_ends_because_another_has_is_not_the_reason(tmp_path: Path) -> None:
    first = failed(0, EXIT_PEER_LOST, tmp_path / "none", at=1)
    second = failed(1, 3, tmp_path / "none", at=2)
    assert first_failure({0: first, 1: second}) is second
    assert first_failure({0: first}) is first
    found = describe_failure(second, tmp_path / "worker.log")
    assert found["message"] == (
        "Rank 1 exited with status 3 before training had ended. Does the code that it runs call "
        f"sys.exit or os._exit? {ENDED}"
    )


@pytest.mark.fault
def test_a_rank_that_the_agent_ends_is_not_the_reason(tmp_path: Path) -> None:
    """One that has not begun to ignore SIGTERM, which it gets in the second of the failure."""
    sent = failed(0, -signal.SIGTERM, tmp_path / "none", at=1)
    killed = failed(1, -signal.SIGKILL, tmp_path / "none", at=1)
    assert first_failure({0: sent, 1: killed}) is killed
    assert first_failure({0: sent}) is sent


@pytest.mark.fault
def test_a_rank_that_ends_without_an_error_is_the_reason(tmp_path: Path) -> None:
    """With status 0 it is no failure to the agent, which has only those of the others."""
    found = describe_failure(failed(0, EXIT_PEER_LOST, tmp_path / "none"), tmp_path / "worker.log")
    assert found["message"].startswith("Another rank than 0 ended, with status 0, before training")
    assert found["message"].endswith(ENDED)

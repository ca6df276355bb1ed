"""Why a worker ended is told for every signal, from a log of any size."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from workbench.child_process.exit_reason import describe_exit, exit_summary
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.worker_exit import write_summary


@pytest.mark.fault
@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGRTMIN + 6, "signal 40")]
)
def test_every_signal_leaves_a_summary(number: int, name: str, tmp_path: Path) -> None:
    write_summary(tmp_path, "fake", exit_summary(tmp_path, -number))
    summary = RunFolder(tmp_path).read_summary()
    assert summary is not None
    assert summary["error"]["type"] == name
    assert f"was killed by {name}." in summary["error"]["message"]


def test_only_the_end_of_a_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "worker.log"
    log.write_text("".join(f"step {step} é\n" for step in range(100_000)), encoding="utf-8")
    # Reading it whole, as text, is what must not be done.
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: pytest.fail("the whole log was read"))
    found = describe_exit(log, 1)["traceback"].splitlines()
    assert found == [f"step {step} é" for step in range(99_988, 100_000)]


def test_a_log_of_one_endless_line_is_cut(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_bytes(b"x" * 1_000_000)
    assert len(describe_exit(log, 1)["traceback"]) == 64 * 1024

"""Runs that continue by themselves: started, found and stopped by commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.command import Invoke
from tests.processes import until


@pytest.mark.sweep  # tests/runs/workers/test_detached.py
def test_a_detached_run_is_listed_anywhere_and_stopped_by_its_id(
    workbench: Invoke, workbench_home: Path, tmp_path: Path
) -> None:
    elsewhere = {"WORKBENCH_HOME": str(tmp_path / "elsewhere")}
    slow = {"WORKBENCH_FAKE": json.dumps({"step_ms": 5})}
    started = workbench(
        *("train", "digits-mlp", "--engine=fake", "--steps=1000000", "--detached", "--json"), **slow
    )
    assert started.status == 0, started.stderr
    run_id = started.json["id"]
    run = wb.load_run(run_id)
    until(lambda: run.progress.done_steps > 0)

    rows = {row["id"]: row for row in workbench("runs", "--active", "--json", **elsewhere).json}
    assert rows[run_id]["status"] == "running"
    assert rows[run_id]["folder"] == str(workbench_home / "runs" / run_id)

    stopped = workbench("stop", run_id, "--json", **elsewhere)
    assert stopped.status == 0, stopped.stderr
    assert stopped.json["status"] == "stopped"
    assert stopped.json["steps"] == run.progress.done_steps > 0
    assert run.checkpoint is not None
    again = workbench("stop", run_id)
    assert again.stdout == f"{run_id}: already ended: stopped.\n"


@pytest.mark.fault
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("stop", "20990101-000000-000-nothing"), "No run '20990101-000000-000-nothing'"),
        (
            ("train", "digits-mlp", "--detached", "--plot=a.png"),
            "--plot a.png cannot be used with --detached",
        ),
        (("train", "digits-mlp", "--threads=100000"), "threads=100000: this process may use"),
    ],
)
def test_impossible_requests_are_errors(
    workbench: Invoke, arguments: tuple[str, ...], words: str
) -> None:
    outcome = workbench(*arguments)
    assert outcome.status == 1
    assert words in outcome.stderr
    assert "Traceback" not in outcome.stderr

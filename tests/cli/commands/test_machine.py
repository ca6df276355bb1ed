"""`workbench doctor` and `workbench lab`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import Invoke
from workbench.cli.commands.machine import TOUR, lab


def test_doctor_prints_its_findings_as_json(workbench: Invoke) -> None:
    outcome = workbench("doctor", "--json")
    assert outcome.status == 0, outcome.stdout
    assert outcome.json["ok"] is True
    assert "Python" in {found["subject"] for found in outcome.json["findings"]}


@pytest.mark.sweep
@pytest.mark.fault
def test_doctor_is_status_1_where_the_main_job_cannot_run(workbench: Invoke) -> None:
    outcome = workbench("doctor", WORKBENCH_HOME="/proc/workbench")
    assert outcome.status == 1
    assert "FAILED  Folder for runs" in outcome.stdout
    assert "fix: export WORKBENCH_HOME" in outcome.stdout
    assert "The workbench does not work here" in outcome.stdout


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines that `os.execv` was asked to become."""
    commands: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _path, command: commands.append(command))
    return commands


def test_lab_opens_the_tour_where_it_is(
    executed: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    lab()
    (tmp_path / TOUR).parent.mkdir()
    (tmp_path / TOUR).touch()
    lab()
    lab(Path("other.ipynb"), browser=False, port=9999)
    start = [sys.executable, "-m", "jupyterlab"]
    assert executed == [
        start,
        [*start, str(TOUR)],
        [*start, "--no-browser", "--port=9999", "other.ipynb"],
    ]


@pytest.mark.sweep  # tests/browser start it
def test_the_program_that_lab_starts_is_installed() -> None:
    command = [sys.executable, "-m", "jupyterlab", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert result.stdout.startswith("4.")

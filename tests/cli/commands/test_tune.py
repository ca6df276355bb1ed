"""`workbench tune`: what it prints and writes, and what a run makes of the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Invoke


@pytest.mark.fault
def test_a_place_for_the_file_is_checked_first(workbench: Invoke, tmp_path: Path) -> None:
    outcome = workbench("tune", "digits-mlp", "--save", str(tmp_path))
    assert outcome.status == 1
    assert "is a folder; give the path of a file" in outcome.stderr


@pytest.mark.sweep
def test_the_command_prints_saves_and_is_used(workbench: Invoke, tmp_path: Path) -> None:
    named = {"WORKBENCH_CACHE": str(tmp_path / "cache")}
    arguments = ("digits-mlp", "--threads", "1", "--save", str(tmp_path / "tuned.json"))
    outcome = workbench("tune", *arguments, "--json", **named)
    assert outcome.status == 0, outcome.stderr
    record = json.loads(outcome.stdout)
    assert record == json.loads((tmp_path / "tuned.json").read_text(encoding="utf-8"))
    assert [entry["engine"] for entry in record["entries"]] == ["ondevice", "ortmodule"]
    settings = ("--steps=2", "--threads=1", "--json", f"--tuning={tmp_path}/tuned.json")
    for engine in ("ortmodule", "ondevice"):
        outcome = workbench("train", "digits-mlp", "--engine", engine, *settings, **named)
        assert outcome.status == 0, outcome.stderr
        options = json.loads(outcome.stdout)["statistics"]["options"]
        [tuning] = [each for each in options if each["option"] == "tuning"]
        assert "tuned.json" in tuning["reason"]
    assert "Tuned kernels" in workbench("doctor", **named).stdout

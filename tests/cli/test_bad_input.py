"""Bad input on the command line is one sentence on stderr and exit status 1."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.command import Invoke

pytestmark = pytest.mark.fault

COMMANDS = {
    "no model": (("models", ""), "pass the name of a sample"),
    "no dataset": (("train", "digits-mlp", "--data", ""), "give the name of a sample"),
    "a pipe": (("train", "digits-mlp", "--data", "pipe.csv", "--target", "b"), "is a pipe"),
    "a short line": (("train", "digits-mlp", "--data", "t.csv", "--target", "b"), "in line 2"),
    "a figure": (("train", "digits-mlp", "--plot", "/dev/full"), "is a device or a pipe"),
    "artifacts": (("artifacts", "digits-mlp", "--directory", "t.csv"), "is a file, not a folder"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_bad_input(workbench: Invoke, tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "t.csv").write_text("a,b\n1,2,3\n")
    arguments, message = COMMANDS[name]
    outcome = workbench(*arguments)
    assert outcome.status == 1
    assert message in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert outcome.stdout == ""

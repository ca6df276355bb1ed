"""Runs the installed command as people do: a process of its own, its streams kept apart."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import COMMAND, Invoke, Outcome


@pytest.fixture
def workbench(tmp_path: Path, workbench_home: Path) -> Invoke:
    """Run `workbench ARGUMENTS...` in an empty directory; keywords are environment variables."""

    def invoke(*arguments: str, **environment: str) -> Outcome:
        result = subprocess.run(
            [COMMAND, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "COLUMNS": "100", **environment},
        )
        return Outcome(result.returncode, result.stdout, result.stderr)

    return invoke

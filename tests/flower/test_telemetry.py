"""Flower is told to report nothing before it is imported, by whatever of ours imports it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")

PROGRAM = """
import sys
import workbench.flower
assert not any(name.partition(".")[0] == "flwr" for name in sys.modules)
import workbench.flower.client.client_app
from flwr.supercore import telemetry
print(telemetry.FLWR_TELEMETRY_ENABLED)
"""


def test_flower_reports_nothing_from_our_processes() -> None:
    """All modules that import it are in this package, which says so first."""
    environment = {**os.environ}
    environment.pop("FLWR_TELEMETRY_ENABLED", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "0"

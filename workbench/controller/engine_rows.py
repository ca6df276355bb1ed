"""Finds out which engines can run here, in a process like those that train."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from workbench.child_process import child
from workbench.errors import EngineError

TIMEOUT_S = 120

EngineRows = list[dict[str, Any]]
"""One dict an engine: name, description, ok, reason, remedy."""


def engine_rows() -> EngineRows:
    """Every engine with whether it can run here; takes about a second.

    This process itself never loads an engine.

    Raises:
        EngineError: they cannot be listed.
    """
    try:
        done = subprocess.run(
            child.command("workbench.engines"),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(
            f"The engines could not be listed within {TIMEOUT_S:g} s. Is the machine busy? Run "
            "`workbench doctor` in a terminal."
        ) from None
    if done.returncode:
        cause = done.stderr.strip().rpartition("\n")[2]
        raise EngineError(
            f"The engines could not be listed: {cause}. Run `workbench doctor` in a terminal."
        )
    rows: EngineRows = json.loads(done.stdout)
    return rows

"""The installed command, and what it came to."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

COMMAND = Path(sys.executable).with_name("workbench")


class Outcome(NamedTuple):
    """The outcome of a command."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout; anything beside it is an error."""
        return json.loads(self.stdout)


Invoke = Callable[..., Outcome]

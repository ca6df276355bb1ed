"""`python -m workbench.artifacts.bundle REQUEST.json`: trains on the sample of a bundle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from workbench.artifacts.bundle.measure import measure
from workbench.child_process.child import serve


def run(_: Callable[[str], None]) -> None:
    """Run the measurement of the request; the result is a file beside it."""
    measure(Path(sys.argv[1]))


if __name__ == "__main__":
    serve(run)

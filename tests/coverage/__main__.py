"""Runs every case at every shape and writes the document of what trains: minutes.

python -m tests.coverage
"""

from __future__ import annotations

import sys

from tests.coverage.document import DOCUMENT, write
from tests.coverage.measure import ENGINES, complaint, measure
from tests.coverage.table import CASES


def main() -> int:
    """Exit status 1 if a case is not as the table says; the document is written all the same."""
    found = measure(list(CASES), every_variant=True)
    DOCUMENT.write_text(write(found))
    complaints = [
        f"{name} | {engine} | {text}"
        for name, case in CASES.items()
        for engine in ENGINES
        if (text := complaint(case, engine, found[name]))
    ]
    for line in complaints:
        print(line, file=sys.stderr)
    print(f"{DOCUMENT}: {len(CASES)} cases, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

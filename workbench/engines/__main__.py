"""Lists which engines can run here, as JSON: `python -m workbench.engines`.

For processes that load no engine themselves.
"""

from __future__ import annotations

import json
import sys

from workbench.engines import engines


def main() -> int:
    json.dump([row._asdict() for row in engines(internal=True)], sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

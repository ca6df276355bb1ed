"""`python -m workbench.cli`: the command where it is not on the path."""

from __future__ import annotations

from workbench.cli import main

if __name__ == "__main__":
    main()

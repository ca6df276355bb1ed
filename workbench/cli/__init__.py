"""The command line: the same words as the Python interface, on the same functions."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `workbench` command.

    Exit status: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted.
    """
    from workbench.cli.app import app
    from workbench.cli.output import say_error
    from workbench.errors import WorkbenchError
    from workbench.files.disk import disk_problem

    try:
        app()
    except WorkbenchError as error:
        say_error(str(error))
        sys.exit(1)
    except OSError as error:
        problem = disk_problem(error)
        if problem is None:
            raise
        say_error(f"{error.filename} cannot be written. {problem}" if error.filename else problem)
        sys.exit(1)

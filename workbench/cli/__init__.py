"""The command line: the same words as the Python interface, on the same functions."""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""Exit status of a command that Ctrl-C ended: 128 + SIGINT, as shells have it."""


def main() -> None:
    """Entry point of the `workbench` command.

    Exit status: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted.
    """
    try:
        # The imports take a second, in which Ctrl-C is as likely as later.
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
            said = f"{error.filename} cannot be written. {problem}" if error.filename else problem
            say_error(said)
            sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)

"""The command line interface, with the names and functions of the Python API.

It starts runs and reads their folders through that API; it loads no native code itself.
"""

from __future__ import annotations

import sys

from workbench.cli.exit_status import INTERRUPTED


def main() -> None:
    """Entry point of the `workbench` command.

    Exit status: 0 success, 1 error, 2 usage error, 130 interrupted.
    """
    try:
        # Inside `try`: the imports take a second, during which Ctrl-C is possible too.
        from workbench.cli.app import app
        from workbench.cli.printing.output import echo_error
        from workbench.errors import WorkbenchError
        from workbench.files.disk import disk_problem

        try:
            app(prog_name="workbench")
        except WorkbenchError as error:
            echo_error(str(error))
            sys.exit(1)
        except OSError as error:
            problem = disk_problem(error)
            if problem is None:
                raise
            said = f"{error.filename} cannot be written. {problem}" if error.filename else problem
            echo_error(said)
            sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)

"""`workbench doctor` and `workbench lab`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli import options as opt
from workbench.cli.printing.output import echo, print_json, stderr

TOUR = Path("notebooks") / "00_tour.ipynb"


def doctor(json: opt.JsonOption = False) -> None:
    """Check this installation, and print a command that fixes each problem.

    Exit status 1 if training cannot work.
    """
    import workbench as wb

    with stderr.status("Checking this installation"):
        diagnosis = wb.doctor()
    if json:
        print_json(diagnosis.as_dict())
    else:
        echo(str(diagnosis))
    if not diagnosis.ok:
        raise typer.Exit(1)


def lab(
    notebook: Annotated[
        Path | None, typer.Argument(help="Notebook to open. Default: the tour, if it exists here.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser window.")] = True,
    port: Annotated[int | None, typer.Option(help="Default: 8888.")] = None,
) -> None:
    """Open JupyterLab."""
    opened = notebook or (TOUR if TOUR.exists() else None)
    command = [sys.executable, "-m", "jupyterlab"]
    command += [] if browser else ["--no-browser"]
    command += [] if port is None else [f"--port={port}"]
    command += [] if opened is None else [str(opened)]
    os.execv(command[0], command)

"""`workbench runs` and `workbench export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli import options as opt
from workbench.cli.output import frame_rows, print_json, print_rows


def runs(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="One run by its id.")] = None,
    json: opt.JsonOption = False,
) -> None:
    """List the runs in this working directory, newest first, or show one."""
    import workbench as wb
    from workbench.cli.training import show_run

    if run is not None:
        show_run(wb.load_run(run), json)
        return
    rows = frame_rows(wb.runs())
    if json:
        print_json(rows)
    else:
        print_rows(rows, "There are no runs here yet. `workbench train digits-mlp` makes one.")


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run by its id or folder.")],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The .onnx file to write.")],
    model: Annotated[
        str | None,
        typer.Option(
            help="What was trained, where code of your own builds it and nothing else has "
            f"exported it. {opt.MODEL_HELP}"
        ),
    ] = None,
    json: opt.JsonOption = False,
) -> None:
    """Write the trained model of a run as ONNX for inference; runs nothing that a record names."""
    import workbench as wb

    written = wb.load_run(run).export(path, model=model)
    if json:
        print_json({"run": run, "path": str(written), "bytes": written.stat().st_size})
    else:
        print(written)

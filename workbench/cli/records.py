"""`workbench runs`, `workbench stop` and `workbench export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli import options as opt
from workbench.cli.output import frame_rows, print_json, print_rows, say


def runs(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="One run by its id.")] = None,
    active: Annotated[
        bool, typer.Option("--active", help="Only those that train now, in any directory.")
    ] = False,
    json: opt.JsonOption = False,
) -> None:
    """List the runs in this working directory, newest first, or show one."""
    import workbench as wb
    from workbench.cli.training import show_run

    if run is not None:
        show_run(wb.load_run(run), json)
        return
    rows = frame_rows(wb.runs(active=active))
    if json:
        print_json(rows)
    elif active:
        print_rows(rows, "Nothing trains now.")
    else:
        print_rows(rows, "There are no runs here yet. `workbench train digits-mlp` makes one.")


def stop(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run by its id or folder.")],
    json: opt.JsonOption = False,
) -> None:
    """Stop a run that trains now, in any directory; its checkpoint is kept."""
    import workbench as wb
    from workbench.runs.active import active_folders

    elsewhere = [path for path in active_folders() if path.name == run]
    found = wb.load_run(elsewhere[0] if elsewhere else run)
    if found.ended:
        message = f"It had ended before: {found.status}."
    else:
        found.stop()
        found.wait()
        message = f"{found.status} at step {found.progress.done_steps}. {found.reason}".rstrip()
    if json:
        print_json({"id": found.id, "status": found.status, "steps": found.progress.done_steps})
    else:
        say(f"{found.id}: {message}")


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
        say(str(written))

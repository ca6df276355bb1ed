"""`workbench runs`, `delete`, `undelete`, `stop` and `export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli import options as opt
from workbench.cli.printing.output import echo, frame_rows, print_json, print_rows
from workbench.errors import ConfigError

if TYPE_CHECKING:
    from workbench.runs import Run


def runs(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="Id of a run to show.")] = None,
    active: Annotated[
        bool, typer.Option("--active", help="Only active runs, of all directories.")
    ] = False,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="Only deleted runs, which can be undeleted.")
    ] = False,
    purge: Annotated[
        bool, typer.Option("--purge", help="Remove all deleted runs permanently, and list them.")
    ] = False,
    tag: Annotated[
        str | None,
        typer.Option(help="Only runs with this tag; with RUN: set its tags, comma-separated."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="With RUN: set its display name.")] = None,
    notes: Annotated[str | None, typer.Option(help="With RUN: set its notes.")] = None,
    json: opt.JsonOption = False,
) -> None:
    """List the runs in this working directory, newest first, or show or label one."""
    import workbench as wb
    from workbench.cli.printing.run_facts import show_run

    listed = {"--active": active, "--deleted": deleted, "--purge": purge}
    _refuse_together([name for name, given in listed.items() if given], run, tag)
    if run is not None:
        _label(wb.load_run(run), tag, name, notes)
        show_run(wb.load_run(run), json)
        return
    if name is not None or notes is not None:
        raise ConfigError(["--name and --notes need the id of a run before them."])
    if purge:
        removed = _purge()
        if json:
            print_json({"removed": removed})
        else:
            echo("\n".join([*removed, f"Removed {len(removed)} deleted runs permanently."]))
        return
    rows = frame_rows(wb.runs(active=active, deleted=deleted, tag=tag))
    if json:
        print_json(rows)
    elif active:
        print_rows(rows, "No active runs.")
    elif deleted:
        print_rows(rows, "No deleted runs.")
    elif tag is not None:
        print_rows(rows, f"No run has the tag {tag!r}.")
    else:
        print_rows(rows, "No runs yet. Start one with `workbench train digits-mlp`.")


def _purge() -> list[str]:
    """Empty the trash; a user is asked first, a script is not."""
    from workbench.runs import purge_trash

    if sys.stdin.isatty():
        typer.confirm("Remove all deleted runs permanently?", abort=True, err=True)
    return purge_trash()


def _refuse_together(listed: list[str], run: str | None, tag: str | None) -> None:
    """Refuse options of which one would be ignored: `--tag old --purge` does not purge by tag.

    Raises:
        ConfigError: says which to leave out.
    """
    if listed and run is not None:
        raise ConfigError([f"{listed[0]} is for the list of runs: leave out the id of a run."])
    if "--purge" in listed and tag is not None:
        raise ConfigError(
            ["--purge removes all deleted runs, whatever their tags: leave out --tag."]
        )
    if len(listed) > 1:
        raise ConfigError([f"{' and '.join(listed)} exclude each other: give one of them."])


def _label(run: Run, tags: str | None, name: str | None, notes: str | None) -> None:
    """Give a run the labels that are not None."""
    if tags is not None:
        run.tags = tags
    if name is not None:
        run.rename(name)
    if notes is not None:
        run.notes = notes


def delete(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.")],
    json: opt.JsonOption = False,
) -> None:
    """Move a run to the trash, where it is kept for at least 30 days."""
    import workbench as wb

    path = wb.load_run(run).delete()
    if json:
        print_json({"id": path.name, "folder": str(path)})
    else:
        echo(f"Deleted {path.name}. `workbench undelete {path.name}` restores it.")


def undelete(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the deleted run.")],
    json: opt.JsonOption = False,
) -> None:
    """Restore a deleted run."""
    import workbench as wb

    found = wb.undelete(run)
    if json:
        print_json({"id": found.id, "folder": str(found.folder.path)})
    else:
        echo(f"{found.id} is restored.")


def stop(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run by its id or folder.")],
    json: opt.JsonOption = False,
) -> None:
    """Stop an active run of any directory; it writes a checkpoint."""
    import workbench as wb
    from workbench.runs.active import active_folders

    active = [path for path in active_folders() if path.name == run]
    found = wb.load_run(active[0] if active else run)
    if found.ended:
        message = f"already ended: {found.status}."
    else:
        found.stop()
        found.wait()
        message = f"{found.status} at step {found.progress.done_steps}. {found.reason}".rstrip()
    if json:
        print_json({"id": found.id, "status": found.status, "steps": found.progress.done_steps})
    else:
        echo(f"{found.id}: {message}")


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run by its id or folder.")],
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="The .onnx or .onnx_adapter file to write.")
    ],
    model: Annotated[
        str | None,
        typer.Option(
            help="The model that was trained; needed if it is built by your own code and was not "
            f"exported before. {opt.MODEL_HELP}"
        ),
    ] = None,
    merge_lora: Annotated[
        bool,
        typer.Option(
            "--merge-lora/--no-merge-lora",
            help="Merge the LoRA adapters into the weights, or keep them as inputs.",
        ),
    ] = True,
    int8: Annotated[
        bool,
        typer.Option(
            "--int8", help="Quantize to int8; prints size, loss and accuracy of both models."
        ),
    ] = False,
    json: opt.JsonOption = False,
) -> None:
    """Export the trained model of a run to ONNX for inference, without executing its code."""
    import workbench as wb

    if int8:
        quantized = wb.load_run(run).quantize(path, model=model)
        if json:
            print_json({"run": run, **quantized.record()})
        else:
            echo(repr(quantized))
        return
    written = wb.load_run(run).export(path, model=model, merge_lora=merge_lora)
    if json:
        print_json({"run": run, "path": str(written), "bytes": written.stat().st_size})
    else:
        echo(str(written))

"""`workbench build-extensions`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from workbench.cli import options as opt
from workbench.cli.output import print_json, printable, say, stderr


def build_extensions(
    force: Annotated[bool, typer.Option("--force", help="Compile again.")] = False,
    if_possible: Annotated[
        bool,
        typer.Option(
            "--if-possible", help="Exit with status 0 even if it cannot be built; print the reason."
        ),
    ] = False,
    json: opt.JsonOption = False,
) -> None:
    """Compile the extension that lets ORTModule use faster PyTorch kernels (about a minute).

    It is stored in the user's cache. ORTModule also works without it.
    """
    from workbench.errors import EngineError
    from workbench.extensions.build_extensions import build_extensions

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=stderr,
        transient=True,
    ) as progress:
        task = progress.add_task("Looking for the compiler", total=None)

        def show(done: int, steps: int, what: str) -> None:
            progress.update(task, completed=done, total=steps, description=what)

        try:
            built = build_extensions(force=force, report=show)
        except EngineError as error:
            if not if_possible:
                raise
            progress.stop()
            message = f"ORTModule will not use PyTorch's kernels. {error}"
            stderr.print(printable(message), markup=False)
            return
    found = {"library": built.extension.library, "seconds": round(built.seconds, 1)}
    if json:
        print_json(found)
    elif built.seconds:
        say(f"Built in {built.seconds:.0f} s: {built.extension.library}")
    else:
        say(f"Already built: {built.extension.library}")

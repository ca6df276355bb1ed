"""`workbench build-extensions`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from workbench.cli import options as opt
from workbench.cli.output import print_json, printable, say, stderr

_WITHOUT = {
    "torch_interop": "ORTModule will not use PyTorch's kernels.",
    "device_kernels": "Training on device and ORTModule will not use the workbench's own kernels.",
}


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
    """Compile the workbench's own kernels, and PyTorch's kernels for ORTModule.

    This takes about a minute. They are stored in the user's cache. Training works without them,
    but is slower. Then the matrix products of PyTorch and of ONNX Runtime are timed on this
    processor, once, so that ORTModule takes the faster ones.
    """
    from workbench.errors import EngineError
    from workbench.extensions.build_extensions import build_extensions
    from workbench.extensions.native_extension import EXTENSIONS
    from workbench.tune.products import ensure_product_times

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

        found = []
        for name in EXTENSIONS:
            try:
                found.append(build_extensions(name, force=force, report=show))
            except EngineError as error:
                if not if_possible:
                    raise
                progress.stop()
                stderr.print(printable(f"{_WITHOUT[name]} {error}"), markup=False)
        progress.update(task, completed=None, total=None)
        times = None
        try:
            times = ensure_product_times(
                lambda text: progress.update(task, description=text), again=force
            )
        except EngineError as error:
            if not if_possible:
                raise
            progress.stop()
            stderr.print(printable(f"Matrix products were not timed. {error}"), markup=False)
    if json:
        print_json(
            [
                {
                    "name": each.extension.name,
                    "library": each.extension.library,
                    "seconds": round(each.seconds, 1),
                }
                for each in found
            ]
        )
        return
    for each in found:
        took = f"Built in {each.seconds:.0f} s" if each.seconds else "Already built"
        say(f"{took}: {each.extension.library}")
    if times is not None:
        say(f"{times.sentence}.")

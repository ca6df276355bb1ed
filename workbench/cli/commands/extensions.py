"""`workbench build-extensions`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from workbench.cli import options as opt
from workbench.cli.printing.output import echo, print_json, stderr
from workbench.display.encodable import printable

if TYPE_CHECKING:
    from workbench.extension_build.build_extensions import ExtensionBuild
    from workbench.tuning_results.product_times import ProductTimes

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
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=stderr,
        transient=True,
    ) as progress:
        task = progress.add_task("Looking for the compiler", total=None)
        found = _build_all(progress, task, force=force, if_possible=if_possible)
        progress.update(task, completed=None, total=None)
        times = _time_products(progress, task, force=force, if_possible=if_possible)
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
        echo(f"{took}: {each.extension.library}")
    if times is not None:
        from workbench.extensions.native_extension import DEVICE_KERNELS, native_extension

        own = not native_extension(DEVICE_KERNELS).problem
        echo(f"{times.sentence(own_kernels=own)}.")


def _build_all(
    progress: Progress, task: TaskID, *, force: bool, if_possible: bool
) -> list[ExtensionBuild]:
    """Build each extension; those that cannot be built are left out `if_possible`."""
    from workbench.extension_build.build_extensions import build_extensions
    from workbench.extensions.native_extension import EXTENSIONS

    def show(done: int, steps: int, what: str) -> None:
        progress.update(task, completed=done, total=steps, description=what)

    found = []
    for name in EXTENSIONS:
        with _errors_printed(progress, _WITHOUT[name], if_possible):
            found.append(build_extensions(name, force=force, report=show))
    return found


def _time_products(
    progress: Progress, task: TaskID, *, force: bool, if_possible: bool
) -> ProductTimes | None:
    """Time the matrix products; None if that failed `if_possible`."""
    from workbench.tune.products import ensure_product_times

    def show(text: str) -> None:
        progress.update(task, description=text)

    with _errors_printed(progress, "Matrix products were not timed.", if_possible):
        return ensure_product_times(show, again=force)
    return None


@contextmanager
def _errors_printed(progress: Progress, consequence: str, if_possible: bool) -> Iterator[None]:
    """Print an EngineError and its consequence if `if_possible`, instead of raising it."""
    from workbench.errors import EngineError

    try:
        yield
    except EngineError as error:
        if not if_possible:
            raise
        progress.stop()
        stderr.print(printable(f"{consequence} {error}"), markup=False)

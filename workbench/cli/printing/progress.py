"""Progress display of runs and comparisons on stderr; Ctrl-C stops them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from workbench.cli.exit_status import INTERRUPTED
from workbench.cli.printing.output import stderr
from workbench.compare import Comparison
from workbench.display.encodable import printable
from workbench.runs import Run

REFRESH_S = 0.1


class _RunOrComparison(Protocol):
    """A run or a comparison."""

    @property
    def ended(self) -> bool: ...

    def stop(self) -> None: ...


def watch_run(run: Run) -> bool:
    """Display `run` until it has ended; returns whether it was interrupted."""
    with _progress() as progress:
        bar = _Bar(progress, run)
        return _watch(run, bar.refresh)


def watch_comparison(comparison: Comparison) -> bool:
    """Display the runs of `comparison` until it has ended; returns whether it was interrupted."""
    with _progress() as progress:
        bars: dict[str, _Bar] = {}
        waiting = progress.add_task("comparison", total=None, phase="", loss="")

        def refresh() -> None:
            # Before the first run it may wait for a quiet machine.
            progress.update(waiting, phase=printable(comparison.phase), visible=not comparison.runs)
            for engine, run in comparison.runs.items():
                if engine not in bars:
                    bars[engine] = _Bar(progress, run)
                bars[engine].refresh()

        return _watch(comparison, refresh)


def exit_if(interrupted: bool) -> None:
    """Exit with status `INTERRUPTED` if the command was interrupted."""
    if interrupted:
        raise typer.Exit(INTERRUPTED)


class _Bar:
    """The progress bar of one run."""

    def __init__(self, progress: Progress, run: Run) -> None:
        self._progress = progress
        self._run = run
        self._reader = run.follow()
        self._loss = ""
        self._task: TaskID = progress.add_task(run.engine, total=None, phase="", loss="")

    def refresh(self) -> None:
        losses = self._reader.poll().loss
        if len(losses):
            self._loss = f"loss {losses[-1]:.4f}"
        done, total = self._run.progress
        self._progress.update(
            self._task,
            completed=done,
            total=total,
            phase=printable(self._run.phase),
            loss=self._loss,
        )


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<15}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[loss]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[phase]}", style="dim", markup=False),
        console=stderr,
    )


def _watch(work: _RunOrComparison, refresh: Callable[[], None]) -> bool:
    """Refresh until `work` has ended; Ctrl-C stops it and waits for its summary."""
    interrupted = False
    while True:
        try:
            ended = work.ended
            refresh()
            if ended:
                return interrupted
            time.sleep(REFRESH_S)
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            stderr.print(
                "Stopping and writing a checkpoint. Press Ctrl-C again to exit immediately."
            )
            work.stop()

"""Writes the trained models of recorded runs to files, as float32 or quantized."""

from __future__ import annotations

from collections.abc import Callable

from workbench.child_process.cancellation import Cancellation, CancelledError, check_cancelled
from workbench.controller.recorded_runs.runs_view import RunsView
from workbench.errors import RunFolderError
from workbench.runs import Run

Report = Callable[[str], None]


class RunExports:
    """Its methods return immediately; the view shows results."""

    def __init__(
        self,
        view: RunsView,
        load: Callable[[str], Run],
        ask: Callable[[Callable[[], None]], None],
    ) -> None:
        """Start with nothing to do.

        Args:
            view: is notified of progress and results.
            load: returns the run of an id.
            ask: runs a function on the thread of the actions, which shows its errors.
        """
        self._view = view
        self._load = load
        self._ask = ask
        self._cancellations: list[Cancellation] = []
        """Cancellations of the exports that have not ended."""

    def export(self, run_id: str, path: str, *, merge_lora: bool = True) -> None:
        """Export the model of a run to the .onnx file `path`, or its adapters to .onnx_adapter."""

        def write(_: Report) -> str:
            run = self._load(run_id)
            return f"Exported to {run.export(_given(path), merge_lora=merge_lora).absolute()}."

        self._start(write, "Exporting the model")

    def quantize(self, run_id: str, path: str) -> None:
        """Export the model of a run as int8; report the effect on size, loss and metrics."""

        def write(report: Report) -> str:
            made = self._load(run_id).quantize(_given(path), report=report)
            return repr(made._replace(path=made.path.absolute()))

        self._start(write, "Quantizing the model")

    def cancel(self) -> None:
        """End the export that is in progress, and those that wait for it."""
        for cancellation in list(self._cancellations):
            cancellation.cancel()

    def _start(self, write: Callable[[Report], str], doing: str) -> None:
        cancellation = Cancellation()
        self._cancellations.append(cancellation)

        def report(text: str) -> None:
            check_cancelled()
            self._view.show_outcome("busy", f"{doing}: {text} …", cancellable=True)

        def act() -> None:
            try:
                with cancellation.applied():
                    self._view.show_outcome("busy", f"{doing} …", cancellable=True)
                    self._view.show_outcome("done", write(report))
            except CancelledError:
                self._view.show_outcome("done", "Cancelled: no model was written.")
            finally:
                self._cancellations.remove(cancellation)

        self._ask(act)


def _given(path: str) -> str:
    if not path.strip():
        raise RunFolderError("Give the path of the .onnx file to write.")
    return path.strip()
